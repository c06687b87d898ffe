func.func @main(%x: tensor<1x8x16x16xf32>, %y: tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32> {
  %0 = tosa.add %x, %y : (tensor<1x8x16x16xf32>, tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %1 = tosa.tanh %0 : (tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %2 = tosa.sub %1, %y : (tensor<1x8x16x16xf32>, tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %3 = tosa.sigmoid %2 : (tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %4 = tosa.maximum %3, %y : (tensor<1x8x16x16xf32>, tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %5 = tosa.exp %4 : (tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %6 = tosa.minimum %5, %y : (tensor<1x8x16x16xf32>, tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %7 = tosa.abs %6 : (tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %8 = tosa.add %7, %y : (tensor<1x8x16x16xf32>, tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %9 = tosa.tanh %8 : (tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %10 = tosa.sub %9, %y : (tensor<1x8x16x16xf32>, tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %11 = tosa.sigmoid %10 : (tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %12 = tosa.maximum %11, %y : (tensor<1x8x16x16xf32>, tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %13 = tosa.exp %12 : (tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %14 = tosa.minimum %13, %y : (tensor<1x8x16x16xf32>, tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  return %14 : tensor<1x8x16x16xf32>
}
