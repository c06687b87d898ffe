# SPDX-License-Identifier: Apache-2.0
"""Runs a command that must end with a status: `%exits 2 ir-opt --unknown`."""

import subprocess
import sys

status = subprocess.run(sys.argv[2:], check=False).returncode
if status != int(sys.argv[1]):
    sys.exit(f"expected exit status {sys.argv[1]}, found {status}")
