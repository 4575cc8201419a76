include(CpuArch)

# A room is one library: every source in src/<room>, every header in include/trireme/<room>. Sources belong
# to a room by lying in its folder, so none are listed here. A source names its room's private headers from src/:
# "data/corpus/schema.hpp".
#
#   add_room(data USES base plan PRIVATE_USES hdf5)
#
# USES names rooms and third-party packages that a room's headers may show; PRIVATE_USES those that only its
# sources may. A name <x> means the target trireme_<x>.
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

# Half of the time to compile a small source goes into its headers, which a unity build reads once per batch. Kernels
# are few and long, and some have flags of their own. Simulations replace single objects of the device room.
function(compile_together library)
  if(NOT library MATCHES "^trireme_(device|kernels)$")
    set_target_properties(${library} PROPERTIES UNITY_BUILD ${TRIREME_UNITY} UNITY_BUILD_BATCH_SIZE 8)
    # A program without MPI may use a function whose batch also calls MPI: what it does not use, the linker drops.
    target_compile_options(${library} PRIVATE -ffunction-sections -fdata-sections)
    target_link_options(${library} INTERFACE LINKER:--gc-sections)
  endif()
endfunction()

# The only sources that see mpi.h, built once for each MPI library: trireme_mpi_openmpi, trireme_mpi_mpich,
# trireme_mpi_smpi. How to wait and how to end a job differ between processes and simulated ranks, and so do time
# and power: a program takes objects before it looks into libraries, so the simulated ones stand in for device's.
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
  # The address sanitizer keeps virtual functions that a program without MPI does not use, and some of them call MPI.
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

# What a room does on the GPU: src/<room>/cuda, or no_gpu.cpp where nothing is found to compile that with. A program
# takes objects before it looks into libraries, so an emulated GPU can stand in for either.
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

# A program whose ranks are of the given MPI library. The simulator's is a module, which smpirun loads; unless told
# not to, once for each rank, which then has variables of its own (GoogleTest's), except those that GCC calls unique.
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

# The first MPI library found gives the program its plain name; another one is said in it: trireme-mpich,
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
  add_custom_target(programs)  # what users and benchmarks run, without tests
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

# The installed program prints its own man page and its completion for bash.
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
