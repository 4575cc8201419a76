# Sets `result` to a sentence that says why `nvcc` cannot be used, or to an empty string if it can.
function(find_cuda_complaint nvcc result)
  execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE text ERROR_QUIET)
  if(NOT text MATCHES "release ([0-9]+\\.[0-9]+)")
    set(${result} "${nvcc} --version does not say its release" PARENT_SCOPE)
  elseif(CMAKE_MATCH_1 VERSION_LESS 12)
    set(${result} "${nvcc} is of CUDA ${CMAKE_MATCH_1}, and CUDA 12 or later is needed (NVIDIA's packages, or module load cuda)"
        PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()
