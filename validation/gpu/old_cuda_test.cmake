# Tests that too old an nvcc is rejected with a message. Run by cmake -P in a folder of its own.
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/CudaCompiler.cmake)

function(expect_complaint version_text expected)
  set(nvcc ${CMAKE_CURRENT_BINARY_DIR}/stand_in_nvcc)
  file(WRITE ${nvcc} "#!/bin/sh\necho '${version_text}'\n")
  file(CHMOD ${nvcc} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  find_cuda_complaint(${nvcc} complaint)
  string(REPLACE "${nvcc}" nvcc complaint "${complaint}")
  if(NOT complaint STREQUAL expected)
    message(FATAL_ERROR "'${version_text}' gives '${complaint}', not '${expected}'")
  endif()
endfunction()

expect_complaint("Cuda compilation tools, release 11.8, V11.8.89"
                 "nvcc is of CUDA 11.8, and CUDA 12 or later is needed (NVIDIA's packages, or module load cuda)")
expect_complaint("Cuda compilation tools, release 12.4, V12.4.99" "")
expect_complaint("Cuda compilation tools, release 13.0, V13.0.48" "")
expect_complaint("no words of a version" "nvcc --version does not say its release")
