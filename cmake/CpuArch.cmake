# Compiler flags of the fast kernels in src/kernels/cpu. They are compiled for the machine named by
# TRIREME_CPU_ARCH, with -fno-math-errno and -fno-trapping-math so that loops with square roots and selections
# vectorise. -ffast-math is never used, because a NaN must stay a NaN.
include(CheckCXXCompilerFlag)

# Sets `result` to the vector extensions that the compiler uses for -march=<name>: a sorted list of its macros.
function(vector_extensions name result)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=${name} -dM -E -x c++ /dev/null
                  OUTPUT_VARIABLE macros ERROR_QUIET)
  string(REGEX MATCHALL "#define __(SSE|AVX|FMA|F16C|BMI|ARM_FEATURE)[A-Z0-9_]*" macros "${macros}")
  list(SORT macros)
  set(${result} "${macros}" PARENT_SCOPE)
endfunction()

# Replaces `native` by the compiler's name for this machine: `native` says nothing in a log, and it confuses a
# compiler cache that is shared by different machines. `native` stays if the name promises more extensions than
# the machine has, as on some virtual machines.
function(concrete_architecture result)
  set(name ${TRIREME_CPU_ARCH})
  if(name STREQUAL "native")
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -Q --help=target
                    OUTPUT_VARIABLE help ERROR_QUIET)
    if(help MATCHES "-march=[ \t]+([a-z0-9_.+-]+)")
      set(candidate ${CMAKE_MATCH_1})
      vector_extensions(native here)
      vector_extensions(${candidate} promised)
      if("${here}" STREQUAL "${promised}")
        set(name ${candidate})
      endif()
    endif()
  endif()
  set(${result} ${name} PARENT_SCOPE)
endfunction()

concrete_architecture(TRIREME_CPU_ARCH_CONCRETE)
set(optimisation -O3)
if(TRIREME_SANITIZE)
  set(optimisation -O1) # instrumented loops take four times as long to compile with -O3
endif()
set(TRIREME_CPU_FLAGS ${optimisation} -march=${TRIREME_CPU_ARCH_CONCRETE} -fopenmp-simd -ffp-contract=fast -fno-math-errno
                      -fno-trapping-math)
# Without this flag GCC uses only half of each 512-bit register.
check_cxx_compiler_flag(-mprefer-vector-width=512 TRIREME_HAS_VECTOR_WIDTH)
if(TRIREME_HAS_VECTOR_WIDTH)
  list(APPEND TRIREME_CPU_FLAGS -mprefer-vector-width=512)
endif()
message(STATUS "fast CPU kernels: ${TRIREME_CPU_FLAGS}")

# CPU features that the compiler may use with these flags, as MACRO=name; the name is the one in Linux's
# /proc/cpuinfo. The list has only features that the compiler uses by itself. AES, for example, needs
# intrinsics.
set(names_of_features
    SSE3=pni SSSE3=ssse3 SSE4_1=sse4_1 SSE4_2=sse4_2 SSE4A=sse4a POPCNT=popcnt LZCNT=abm MOVBE=movbe AVX=avx AVX2=avx2
    FMA=fma FMA4=fma4 XOP=xop F16C=f16c BMI=bmi1 BMI2=bmi2 AVX512F=avx512f AVX512CD=avx512cd AVX512BW=avx512bw
    AVX512DQ=avx512dq AVX512VL=avx512vl AVX512VBMI=avx512vbmi AVX512VBMI2=avx512_vbmi2 AVX512VNNI=avx512_vnni
    AVX512BITALG=avx512_bitalg AVX512VPOPCNTDQ=avx512_vpopcntdq AVX512BF16=avx512_bf16 AVX512FP16=avx512_fp16
    AVXVNNI=avx_vnni ARM_FEATURE_SVE=sve ARM_FEATURE_SVE2=sve2 ARM_FEATURE_BF16=bf16 ARM_FEATURE_DOTPROD=asimddp
    ARM_FEATURE_ATOMICS=atomics)
function(features_of_flags result)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${ARGN} -dM -E -x c++ /dev/null OUTPUT_VARIABLE macros ERROR_QUIET)
  set(features "")
  foreach(pair IN LISTS names_of_features)
    string(REGEX MATCH "^(.*)=(.*)$" pair ${pair})
    if(macros MATCHES "#define __${CMAKE_MATCH_1}(__)? 1")
      string(REGEX REPLACE "^.*=" "" feature ${pair})
      list(APPEND features ${feature})
    endif()
  endforeach()
  set(${result} "${features}" PARENT_SCOPE)
endfunction()

separate_arguments(flags_of_all UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
features_of_flags(TRIREME_CPU_FEATURES ${flags_of_all} ${TRIREME_CPU_FLAGS})
list(JOIN TRIREME_CPU_FEATURES " " TRIREME_CPU_FEATURES)

# Sets the flags above for those of the given sources that lie in src/kernels/cpu.
function(compile_for_cpu)
  list(FILTER ARGN INCLUDE REGEX "/src/kernels/cpu/")
  if(ARGN)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${TRIREME_CPU_FLAGS}")
  endif()
endfunction()
