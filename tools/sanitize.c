// SPDX-License-Identifier: Apache-2.0
/* tools/sanitize.c - of builds with AddressSanitizer: what drivers of devices leak is not our matter. They stay loaded, so that
 * the leak checker knows whose memory it finds. */
typedef int sanitize_nothing;

#ifdef __SANITIZE_ADDRESS__
int dlclose(void *library);
int dlclose(void *library) {
  (void)library;
  return 0;
}

const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:libRusticlOpenCL\nleak:libpocl\nleak:libvulkan\nleak:libVkLayer\nleak:pipe_swrast\nleak:libgallium\nleak:libLLVM\n"
         "leak:libOpenCL\nleak:_dlerror_run\nleak:__cxa_thread_atexit_impl\n";
}
#endif
