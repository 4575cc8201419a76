# Build type, warnings, sanitizers and the compiler cache.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
endif()

option(TRIREME_UNITY "Compile the sources of a room in batches of eight, which takes half the time" ON)
set(TRIREME_SANITIZE OFF CACHE STRING "ON: build with the address and undefined-behaviour sanitizers; thread: with ThreadSanitizer")
set_property(CACHE TRIREME_SANITIZE PROPERTY STRINGS OFF ON thread)
option(TRIREME_WERROR "Warnings in our own code are errors" ON)
set(TRIREME_CPU_ARCH "native" CACHE STRING
    "Instruction set of the fast CPU kernels (-march=); name one, such as x86-64-v3, where nodes differ")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths are relative to the source tree, so that a second checkout of the same sources hits the cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

add_library(trireme_warnings INTERFACE)
target_compile_options(trireme_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(trireme_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>) # false positive for "a" + std::string (GCC bug 105329)
endif()
# In a unity build both flags warn about sources that merely share a batch. A build without unity keeps the
# warnings, except for tests.
set(TRIREME_UNITY_WARNINGS $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow;-Wno-subobject-linkage>)
if(TRIREME_UNITY)
  target_compile_options(trireme_warnings INTERFACE ${TRIREME_UNITY_WARNINGS})
endif()
if(TRIREME_WERROR)
  target_compile_options(trireme_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

if(TRIREME_SANITIZE)
  set(sanitizers address,undefined)
  if(TRIREME_SANITIZE STREQUAL "thread")
    set(sanitizers thread)
  endif()
  # The address sanitizer already reports null pointers. Checking each pointer for null and each object for its
  # dynamic type would add a quarter to the compile time.
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize=null,vptr -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers})
  # The instrumentation adds paths that the program does not have, and GCC warns of uninitialised values on
  # them.
  target_compile_options(trireme_warnings INTERFACE -Wno-maybe-uninitialized)
  # ThreadSanitizer ignores fences. Those of comm order accesses of processes, which it does not see.
  if(TRIREME_SANITIZE STREQUAL "thread")
    target_compile_options(trireme_warnings INTERFACE -Wno-tsan)
  endif()
endif()
