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
  list(FILTER sources EXCLUDE REGEX "/src/comm/mpi/")
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
  target_include_directories(trireme_${room} PUBLIC ${CMAKE_SOURCE_DIR}/include PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(trireme_${room} PUBLIC ${arg_USES} PRIVATE ${arg_PRIVATE_USES} trireme_warnings)
  set_property(GLOBAL APPEND PROPERTY TRIREME_ROOMS trireme_${room})
endfunction()

# The only sources that see mpi.h, built once for each MPI library: trireme_mpi_openmpi, trireme_mpi_mpich.
function(add_mpi_rooms)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/comm/mpi/*.cpp)
  if(NOT sources)
    return()
  endif()
  foreach(mpi IN LISTS TRIREME_MPIS)
    add_library(trireme_mpi_${mpi} STATIC ${sources})
    target_include_directories(trireme_mpi_${mpi} PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(trireme_mpi_${mpi} PUBLIC trireme_comm PRIVATE trireme_${mpi} trireme_warnings)
    set_property(GLOBAL APPEND PROPERTY TRIREME_ROOMS trireme_mpi_${mpi})
  endforeach()
endfunction()

# The first MPI library found gives the program its plain name; another one is said in it: trireme-mpich.
function(add_program name)
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/src/app/main.cpp)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/app/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main.cpp$")
  add_library(trireme_app STATIC ${sources})
  target_include_directories(trireme_app PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(trireme_app PUBLIC trireme_train trireme_report trireme_tools
                                    PRIVATE trireme_options trireme_fmt trireme_warnings)
  set_property(GLOBAL APPEND PROPERTY TRIREME_ROOMS trireme_app)
  set(program ${name})
  foreach(mpi IN LISTS TRIREME_MPIS)
    add_executable(${program} ${CMAKE_SOURCE_DIR}/src/app/main.cpp)
    target_include_directories(${program} PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${program} PRIVATE trireme_app trireme_mpi_${mpi} trireme_warnings)
    target_compile_definitions(${program} PRIVATE TRIREME_MPI="${mpi}")
    set(program ${name}-mpich) # the only second library that Dependencies.cmake looks for
  endforeach()
  install(TARGETS ${name})
endfunction()
