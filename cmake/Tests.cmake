# Tests belong to a room by their folder: validation/unit/<room>/*_test.cpp become one program, unit_<room>. It
# is one ctest case, or several if it takes long, because starting thousands of processes that test for a
# millisecond would take minutes. If tests start programs themselves, each TEST is a case.
find_package(GTest QUIET)
if(NOT GTest_FOUND)
  missing("GoogleTest" libgtest-dev)
endif()

# Tests with a long TIMEOUT have a high COST and start first, so that no core waits for them at the end.

# Target that builds all programs with one label: ninja tests_unit, tests_ranks.
function(belongs_to_label label program)
  if(NOT TARGET tests_${label})
    add_custom_target(tests_${label})
  endif()
  add_dependencies(tests_${label} ${program})
endfunction()

# Defines TRIREME_SOURCE_DIR only for the sources that use it, so that the compiler cache also serves other
# checkouts.
function(define_source_dir)
  foreach(source IN LISTS ARGN)
    get_filename_component(path ${source} ABSOLUTE)
    if(path MATCHES "[.]cpp$" AND EXISTS ${path})
      file(STRINGS ${path} lines REGEX "TRIREME_SOURCE_DIR")
      if(lines)
        set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS TRIREME_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
      endif()
    endif()
  endforeach()
endfunction()

# Factor on a test's TIMEOUT, after which a hang is a failure. Sanitizers make all tests slow.
set(TRIREME_PATIENCE 1)
if(TRIREME_SANITIZE)
  set(TRIREME_PATIENCE 4)
endif()

# Tests are compiled with little optimisation and, like most rooms, eight sources at a time (compile_together()
# in Rooms.cmake). That takes a third of the time. The undefined-behaviour sanitizer checks the rooms, not the
# tests.
add_library(trireme_quickly_compiled INTERFACE)
target_compile_options(trireme_quickly_compiled INTERFACE -Og ${TRIREME_UNITY_WARNINGS}
                                                          $<$<STREQUAL:${TRIREME_SANITIZE},ON>:-fno-sanitize=undefined>)
function(compile_tests_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TRIREME_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# Builds a test program without adding its ctest cases.
function(build_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "SOURCES;USES;PRIVATE_USES")
  list(TRANSFORM arg_USES PREPEND trireme_)
  list(TRANSFORM arg_PRIVATE_USES PREPEND trireme_)
  add_executable(${name} ${arg_SOURCES})
  compile_tests_together(${name})
  define_source_dir(${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/validation)
  target_link_libraries(${name} PRIVATE ${arg_USES} ${arg_PRIVATE_USES} GTest::gtest_main trireme_warnings
                        trireme_quickly_compiled)
  belongs_to_label(${arg_LABEL} ${name})
endfunction()

#   add_test_program(messages LABEL messages TIMEOUT 30 SOURCES a_test.cpp b_test.cpp USES data)
function(add_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "")
  build_test_program(${name} LABEL ${arg_LABEL} ${arg_UNPARSED_ARGUMENTS})
  math(EXPR timeout "${arg_TIMEOUT} * ${TRIREME_PATIENCE}")
  gtest_discover_tests(${name} TEST_PREFIX ${arg_LABEL}/ DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${timeout} COST ${arg_TIMEOUT})
endfunction()

# from validation/unit/data/*_test.cpp; TIMEOUT applies per case
#   add_room_tests(unit data CASES 4 TIMEOUT 30) as four cases: unit/data_1 to unit/data_4
# SWEEPS are tests that compute for long, such as comparisons with all solutions. They run without sanitizers only,
# as the case sweeps/data, because other tests have the same code under the sanitizers.
function(add_room_tests folder room)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "CASES;TIMEOUT" "PRIVATE_USES;SWEEPS")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/validation/${folder}/${room}/*.cpp)
  if(sources AND TARGET trireme_${room})
    build_test_program(${folder}_${room} LABEL ${folder} SOURCES ${sources} USES ${room}
                       PRIVATE_USES ${arg_PRIVATE_USES})
    set(others)
    if(arg_SWEEPS)
      list(JOIN arg_SWEEPS ":" sweeps)
      set(others --gtest_filter=-${sweeps})
      if(NOT TRIREME_SANITIZE)
        add_test(NAME sweeps/${room} COMMAND ${folder}_${room} --gtest_brief=1 --gtest_filter=${sweeps})
        set_tests_properties(sweeps/${room} PROPERTIES LABELS sweeps TIMEOUT ${arg_TIMEOUT} COST ${arg_TIMEOUT})
        belongs_to_label(sweeps ${folder}_${room})
      endif()
    endif()
    add_cases(${folder}_${room} ${folder}/${room} LABEL ${folder} TIMEOUT ${arg_TIMEOUT} CASES ${arg_CASES} FILTER ${others})
  endif()
endfunction()

# Splits a program's tests over its cases by GoogleTest's sharding.
function(add_cases program name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "LABEL;TIMEOUT;CASES;FILTER" "")
  math(EXPR timeout "${arg_TIMEOUT} * ${TRIREME_PATIENCE}")
  if(NOT arg_CASES)
    set(arg_CASES 1)
  endif()
  foreach(case RANGE 1 ${arg_CASES})
    math(EXPR index "${case} - 1")
    set(test ${name})
    if(arg_CASES GREATER 1)
      set(test ${name}_${case})
    endif()
    add_test(NAME ${test} COMMAND ${program} --gtest_brief=1 ${arg_FILTER})
    set_tests_properties(${test} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${timeout} COST ${arg_TIMEOUT}
                                 ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_CASES};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# Rank tests, validation/<folder>/*_test.cpp: one program per MPI library, run under that library's mpiexec. A
# hang is a failure after TIMEOUT seconds. A simulation detects a deadlock at once, but exits with code 0, so
# its message counts as a failure.
#   add_rank_program(comm FOLDER ranks USES comm)          ranks_comm_openmpi, ranks_comm_mpich, ranks_comm_smpi
#   add_rank_test(comm FOLDER ranks RANKS 2 3 4 TIMEOUT 30)
# under this library only
# MPICH ranks keep a core busy while they wait, so tests with more than 3 of them run only with
# TRIREME_ALL_SIZES.
option(TRIREME_ALL_SIZES "Run rank tests on all numbers of ranks under every MPI library (for the night)" OFF)
function(add_rank_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER" "SOURCES;USES")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/validation/${arg_FOLDER}/${name}/*.cpp)
  split_by_mpi(${sources} ${arg_SOURCES})  # SOURCES are shared with other tests
  set(shared ${arg_FOLDER}_${name}_shared)
  list(TRANSFORM arg_USES PREPEND trireme_ OUTPUT_VARIABLE rooms)
  add_library(${shared} OBJECT ${sources_without_mpi})
  compile_tests_together(${shared})
  target_compile_options(${shared} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)  # needed by the simulator's module
  target_include_directories(${shared} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/validation)
  target_link_libraries(${shared} PRIVATE ${rooms} GTest::gtest trireme_warnings trireme_quickly_compiled)
  foreach(mpi IN LISTS TRIREME_MPIS)
    set(program ${arg_FOLDER}_${name}_${mpi})
    add_mpi_program(${program} ${mpi} SOURCES ${sources_with_mpi} $<TARGET_OBJECTS:${shared}>
                                              ${CMAKE_SOURCE_DIR}/validation/ranks/rank_main.cpp
                    USES ${arg_USES} ${mpi})
    target_include_directories(${program} PRIVATE ${CMAKE_SOURCE_DIR}/validation)
    target_link_libraries(${program} PRIVATE GTest::gtest trireme_quickly_compiled)
    belongs_to_label(${arg_FOLDER} ${program})
  endforeach()
endfunction()

# Splits sources into those that include mpi.h, compiled once per MPI library, and all others, compiled once.
function(split_by_mpi)
  foreach(source IN LISTS ARGN)
    set(sees_mpi TRUE)
    if(source MATCHES "[.]cpp$")  # skips objects of another target
      get_filename_component(path ${source} ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR}/validation)
      find_mpi(${path} sees_mpi)
    endif()
    if(sees_mpi)
      list(APPEND with ${source})
    else()
      list(APPEND without ${source})
    endif()
  endforeach()
  set(sources_with_mpi ${with} PARENT_SCOPE)
  set(sources_without_mpi ${without} PARENT_SCOPE)
endfunction()

# Sets `result` to TRUE if a file includes mpi.h itself or through private headers of src/ or validation/.
function(find_mpi path result)
  set(${result} FALSE PARENT_SCOPE)
  file(STRINGS ${path} lines REGEX "^#include [<\"]")
  foreach(line IN LISTS lines)
    if(line MATCHES "<mpi.h>")
      set(${result} TRUE PARENT_SCOPE)
    elseif(line MATCHES "\"(.*)\"")
      foreach(root src validation)
        if(EXISTS ${CMAKE_SOURCE_DIR}/${root}/${CMAKE_MATCH_1})
          find_mpi(${CMAKE_SOURCE_DIR}/${root}/${CMAKE_MATCH_1} seen)
          if(seen)
            set(${result} TRUE PARENT_SCOPE)
          endif()
        endif()
      endforeach()
    endif()
  endforeach()
endfunction()

function(add_rank_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER;TIMEOUT" "RANKS;MPIS")
  foreach(mpi IN LISTS TRIREME_MPIS)
    if(arg_MPIS AND NOT mpi IN_LIST arg_MPIS)
      continue()
    endif()
    foreach(ranks IN LISTS arg_RANKS)
      if(mpi STREQUAL "mpich" AND ranks GREATER 3 AND "openmpi" IN_LIST TRIREME_MPIS AND NOT TRIREME_ALL_SIZES)
        continue()
      endif()
      one_rank_test(${arg_FOLDER} ${name}_${mpi}_${ranks} ${arg_TIMEOUT} ${TRIREME_MPIEXEC_${mpi}} -n ${ranks}
                    $<TARGET_FILE:${arg_FOLDER}_${name}_${mpi}>)
    endforeach()
  endforeach()
endfunction()

# Runs the same program again in a simulation, on nodes of two devices that have clocks and power meters. If a
# command line names two platforms, the last one counts.
function(add_node_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER;TIMEOUT" "RANKS")
  if(NOT "smpi" IN_LIST TRIREME_MPIS)
    return()
  endif()
  set(nodes ${CMAKE_SOURCE_DIR}/validation/ranks/nodes)
  foreach(ranks IN LISTS arg_RANKS)
    one_rank_test(${arg_FOLDER} ${name}_nodes_${ranks} ${arg_TIMEOUT} ${TRIREME_MPIEXEC_smpi} -platform ${nodes}.xml
                  -hostfile ${nodes}.hosts --cfg=plugin:host_energy -n ${ranks}
                  $<TARGET_FILE:${arg_FOLDER}_${name}_smpi>)
  endforeach()
endfunction()

# Runs some of the program's tests on many ranks, which only a simulation can hold.
function(add_crowd_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER;TIMEOUT;FILTER" "RANKS")
  if(NOT "smpi" IN_LIST TRIREME_MPIS)
    return()
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    one_rank_test(${arg_FOLDER} ${name}_crowd_${ranks} ${arg_TIMEOUT} ${TRIREME_MPIEXEC_smpi} -n ${ranks}
                  $<TARGET_FILE:${arg_FOLDER}_${name}_smpi> --gtest_filter=${arg_FILTER})
  endforeach()
endfunction()

# Adds a test that deadlocks on purpose. It passes if the simulator's report matches PATTERN.
#   add_deadlock_test(pipeline FOLDER ranks FILTER EngineError.* PATTERN "a deadlock" TIMEOUT 60)
function(add_deadlock_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER;TIMEOUT;FILTER;PATTERN" "")
  if(NOT "smpi" IN_LIST TRIREME_MPIS)
    return()
  endif()
  set(test ${arg_FOLDER}/${name}_deadlock)
  add_test(NAME ${test} COMMAND ${TRIREME_MPIEXEC_smpi} -n 2 $<TARGET_FILE:${arg_FOLDER}_${name}_smpi>
                                --gtest_also_run_disabled_tests --gtest_filter=${arg_FILTER})
  set_tests_properties(${test} PROPERTIES LABELS ${arg_FOLDER} TIMEOUT ${arg_TIMEOUT}
                                          PASS_REGULAR_EXPRESSION "${arg_PATTERN}"
                                          ENVIRONMENT "${TRIREME_MPI_ENVIRONMENT}")
endfunction()

# Each test has its own folder for temporary files: Open MPI jobs of one user fail with a shared one if one job
# begins while another ends.
function(one_rank_test folder name timeout)
  math(EXPR timeout "${timeout} * ${TRIREME_PATIENCE}")
  set(processors 2)
  if(SMPIRUN AND "${ARGN}" MATCHES "^${SMPIRUN};")  # simulated ranks share one process
    set(processors 1)
  endif()
  set(temporary ${CMAKE_BINARY_DIR}/temporary/${name})
  file(MAKE_DIRECTORY ${temporary})
  add_test(NAME ${folder}/${name} COMMAND ${ARGN})
  set_tests_properties(${folder}/${name} PROPERTIES LABELS ${folder} PROCESSORS ${processors} TIMEOUT ${timeout} COST ${timeout}
                                          FAIL_REGULAR_EXPRESSION "Deadlock detected"
                                          ENVIRONMENT "${TRIREME_MPI_ENVIRONMENT};TMPDIR=${temporary}")
endfunction()

# Open MPI refuses root and more ranks than cores by default, and its copies between ranks are forbidden in
# containers (OMPI_MCA_: up to version 4, PRTE_: from 5). MPICH needs no settings. Each rank has one thread. An
# exception that leaves a test ends the job, because the other ranks would wait for this one.
set(TRIREME_MPI_ENVIRONMENT
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_vader_single_copy_mechanism=none
    PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    PRTE_MCA_hwloc_default_binding_policy=none OMP_NUM_THREADS=1 GTEST_CATCH_EXCEPTIONS=0)
if(TRIREME_SANITIZE)
  list(APPEND TRIREME_MPI_ENVIRONMENT
       LSAN_OPTIONS=suppressions='${CMAKE_SOURCE_DIR}/validation/asan/lsan.supp':print_suppressions=0)
endif()
