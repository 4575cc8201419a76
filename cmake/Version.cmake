# Facts that `trireme --version` prints. When included, this file adds base's make_build_facts() to the base room.
# When run as a script, at every build, it asks git for the revision, which may have changed since the
# configuration.
if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND git describe --always --dirty=\ with\ changes --exclude=*
                  WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE REVISION OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    set(REVISION "")
  endif()
  configure_file(${SOURCE}/cmake/version.cpp.in ${OUTPUT} @ONLY)
  return()
endif()

set(matrices "BLAS ${BLAS_LIBRARIES}")
if(TRIREME_WITH_ONEDNN)
  set(matrices oneDNN)
  file(GLOB headers ${DNNL_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h)
  foreach(part MAJOR MINOR PATCH)
    if(headers)
      file(STRINGS ${headers} line REGEX "define DNNL_VERSION_${part} ")
      string(REGEX REPLACE ".* ([0-9]+).*" "\\1" number "${line}")
      string(APPEND version_of_onednn ".${number}")
    endif()
  endforeach()
  string(REGEX REPLACE "^\\." " " version_of_onednn "${version_of_onednn}")
  string(APPEND matrices "${version_of_onednn}")
endif()

set(has_cuda false)
if(TRIREME_WITH_CUDA)
  set(has_cuda true)
endif()

set(facts ${CMAKE_BINARY_DIR}/generated/version.cpp)
set(compiler "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE}, -march=${TRIREME_CPU_ARCH}")
add_custom_target(trireme_version ALL
                  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUTPUT=${facts} -DVERSION=${PROJECT_VERSION}
                          -DCOMPILER=${compiler} -DCPU=${TRIREME_CPU_ARCH_CONCRETE}
                          -DCPU_FEATURES=${TRIREME_CPU_FEATURES} -DHDF5=${HDF5_VERSION} -DMATRICES=${matrices}
                          -DHAS_CUDA=${has_cuda}
                          -P ${CMAKE_CURRENT_LIST_FILE}
                  BYPRODUCTS ${facts} VERBATIM)
target_sources(trireme_base PRIVATE ${facts})
add_dependencies(trireme_base trireme_version)
