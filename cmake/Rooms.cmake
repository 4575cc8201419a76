include(CpuArch)

# A room is one library: every source in src/<room> and every header in include/trireme/<room>. Sources belong
# to a room by their folder, so none are listed here. A source includes its room's private headers relative to
# src/: "data/corpus/schema.hpp".
#
#   add_room(data USES base plan PRIVATE_USES hdf5)
#
# USES names the rooms and third-party packages that a room's public headers may include. PRIVATE_USES names
# those that only its sources may include. A name <x> means the target trireme_<x>.
function(add_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "USES;PRIVATE_USES")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${room}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/src/comm/mpi/|/src/[a-z]+/(cuda/|no_gpu)")
  if(TRIREME_WITH_NCCL)
    list(FILTER sources EXCLUDE REGEX "/no_nccl")
  else()
    list(FILTER sources EXCLUDE REGEX "/src/comm/nccl/")
  endif()
  if(TRIREME_WITH_ONEDNN)
    list(FILTER sources EXCLUDE REGEX "/blas_")
  else()
    list(FILTER sources EXCLUDE REGEX "/onednn_")
  endif()
  if(NOT sources)
    return()
  endif()
  list(TRANSFORM arg_USES PREPEND trireme_)
  list(TRANSFORM arg_PRIVATE_USES PREPEND trireme_)
  compile_for_cpu(${sources})
  add_library(trireme_${room} STATIC ${sources})
  compile_together(trireme_${room})
  target_include_directories(trireme_${room} PUBLIC ${CMAKE_SOURCE_DIR}/include PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(trireme_${room} PUBLIC ${arg_USES} PRIVATE ${arg_PRIVATE_USES} trireme_warnings)
  set_property(GLOBAL APPEND PROPERTY TRIREME_ROOMS trireme_${room})
endfunction()

# Compiles a library as a unity build. Half of the compile time of a small source goes into its headers, which a
# unity build reads once per batch. Kernels are excluded because they are few and long, and some have their own
# flags. The device room is excluded because simulations replace single objects of it.
function(compile_together library)
  if(NOT library MATCHES "^trireme_(device|kernels)$")
    set_target_properties(${library} PROPERTIES UNITY_BUILD ${TRIREME_UNITY} UNITY_BUILD_BATCH_SIZE 8)
    # A program without MPI may use a function whose batch also calls MPI. The linker drops the unused sections.
    target_compile_options(${library} PRIVATE -ffunction-sections -fdata-sections)
    target_link_options(${library} INTERFACE LINKER:--gc-sections)
  endif()
endfunction()

# Builds the only sources that include mpi.h, once per MPI library: trireme_mpi_openmpi, trireme_mpi_mpich,
# trireme_mpi_smpi. Waiting, ending a job, time and power differ between processes and simulated ranks. The
# linker takes objects before it searches libraries, so the simulated objects replace those of the device room.
function(add_mpi_rooms)
  foreach(mpi IN LISTS TRIREME_MPIS)
    set(ranks wall)
    if(mpi STREQUAL "smpi")
      set(ranks simulated)
    endif()
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/comm/mpi/*.cpp
                                        ${CMAKE_SOURCE_DIR}/src/comm/mpi/${ranks}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "/simulated/device.cpp$")
    add_library(trireme_mpi_${mpi} STATIC ${sources})
    target_include_directories(trireme_mpi_${mpi} PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(trireme_mpi_${mpi} PUBLIC trireme_comm PRIVATE trireme_${mpi} trireme_warnings)
    set_property(GLOBAL APPEND PROPERTY TRIREME_ROOMS trireme_mpi_${mpi})
  endforeach()
  # The address sanitizer keeps virtual functions that a program without MPI does not use. Some of them call
  # MPI.
  if(TRIREME_SANITIZE)
    list(GET TRIREME_MPIS 0 mpi)
    target_link_libraries(trireme_comm INTERFACE trireme_mpi_${mpi})
  endif()
  if(TARGET trireme_mpi_smpi)
    add_library(trireme_simulated_clock OBJECT ${CMAKE_SOURCE_DIR}/src/comm/mpi/simulated/device.cpp)
    target_link_libraries(trireme_simulated_clock PRIVATE trireme_device trireme_smpi trireme_warnings)
    target_sources(trireme_mpi_smpi INTERFACE $<TARGET_OBJECTS:trireme_simulated_clock>)
  endif()
endfunction()

# Adds a room's GPU sources: src/<room>/cuda, or no_gpu.cpp without a CUDA compiler. The linker takes objects
# before it searches libraries, so an emulated GPU can replace either.
function(add_gpu_part room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "USES")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${room}/cuda/*.cpp
                                              ${CMAKE_SOURCE_DIR}/src/${room}/cuda/*.cu)
  if(NOT TRIREME_WITH_CUDA)
    set(sources ${CMAKE_SOURCE_DIR}/src/${room}/no_gpu.cpp)
  endif()
  list(TRANSFORM arg_USES PREPEND trireme_)
  add_library(trireme_${room}_gpu STATIC ${sources})
  target_include_directories(trireme_${room}_gpu PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(trireme_${room}_gpu PRIVATE trireme_${room} trireme_warnings)
  if(TRIREME_WITH_CUDA)
    target_link_libraries(trireme_${room}_gpu PRIVATE trireme_cuda)
  endif()
  target_link_libraries(trireme_${room} INTERFACE trireme_${room}_gpu)
  set_property(GLOBAL APPEND PROPERTY TRIREME_ROOMS trireme_${room}_gpu)
endfunction()

# Adds a program that is linked with the given MPI library. For SMPI it is a module that smpirun loads, by
# default once per rank. Each rank then has its own global variables (such as GoogleTest's), except those that
# GCC marks unique; -fno-gnu-unique removes that mark.
#   add_mpi_program(trireme-mpich mpich SOURCES main.cpp USES app)
function(add_mpi_program name mpi)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;USES")
  list(TRANSFORM arg_USES PREPEND trireme_)
  if(mpi STREQUAL "smpi")
    add_library(${name} MODULE ${arg_SOURCES})
    target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
    set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX "" LINK_OPTIONS "LINKER:-z,defs"
                                             LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  else()
    add_executable(${name} ${arg_SOURCES})
  endif()
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${arg_USES} trireme_mpi_${mpi} trireme_warnings)
endfunction()

# The program for the first MPI library has the plain name. The others have a suffix: trireme-mpich,
# trireme-sim.
function(add_program name)
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/src/app/main.cpp)
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/app/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main.cpp$")
  add_library(trireme_app STATIC ${sources})
  compile_together(trireme_app)
  target_include_directories(trireme_app PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(trireme_app PUBLIC trireme_run trireme_report trireme_tools
                                    PRIVATE trireme_options trireme_fmt trireme_warnings)
  set_property(GLOBAL APPEND PROPERTY TRIREME_ROOMS trireme_app)
  add_custom_target(programs)  # programs that users and benchmarks run, without tests
  list(GET TRIREME_MPIS 0 first)
  foreach(mpi IN LISTS TRIREME_MPIS)
    if(mpi STREQUAL "smpi")
      set(program ${name}-sim)
    elseif(mpi STREQUAL first)
      set(program ${name})
    else()
      set(program ${name}-${mpi})
    endif()
    add_mpi_program(${program} ${mpi} SOURCES ${CMAKE_SOURCE_DIR}/src/app/main.cpp USES app)
    target_compile_definitions(${program} PRIVATE TRIREME_MPI="${mpi}")
    add_dependencies(programs ${program})
  endforeach()
  install(TARGETS ${name})
  if(TARGET ${name}-sim)
    install(TARGETS ${name}-sim LIBRARY DESTINATION bin)
  endif()
  install_help(${name})
endfunction()

# Installs the man page and the bash completion, which the installed program prints itself.
function(install_help name)
  install(CODE "
    set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share\")
    foreach(page --man=man/man1/${name}.1 --completion=bash-completion/completions/${name})
      string(REGEX MATCH \"(.*)=(.*)\" page \${page})
      get_filename_component(folder \${share}/\${CMAKE_MATCH_2} DIRECTORY)
      file(MAKE_DIRECTORY \${folder})
      execute_process(COMMAND \"$<TARGET_FILE:${name}>\" help \${CMAKE_MATCH_1}
                      OUTPUT_FILE \${share}/\${CMAKE_MATCH_2} COMMAND_ERROR_IS_FATAL ANY)
    endforeach()")
endfunction()
