# Libraries that Trireme uses. Each becomes an interface target trireme_<name>. A missing required library stops
# the configuration and names its Debian package. A missing optional library prints one line that says which
# feature is absent.
find_package(PkgConfig QUIET)
find_package(Threads REQUIRED)

function(missing what package)
  message(FATAL_ERROR "${what} was not found; on Debian: apt-get install ${package}; "
                      "on a cluster: load its module, or spack load it, and configure again")
endfunction()

function(wrap name)
  add_library(trireme_${name} INTERFACE)
  target_link_libraries(trireme_${name} INTERFACE ${ARGN})
endfunction()

# --- text, JSON, options --------------------------------------------------------------------------------
find_package(fmt QUIET)
if(NOT fmt_FOUND)
  missing("fmt" libfmt-dev)
endif()
wrap(fmt fmt::fmt)

find_package(nlohmann_json 3.10 QUIET)
if(NOT nlohmann_json_FOUND)
  missing("nlohmann-json" nlohmann-json3-dev)
endif()
wrap(nlohmann nlohmann_json::nlohmann_json)

find_package(Boost 1.71 QUIET COMPONENTS program_options)
if(NOT Boost_FOUND)
  missing("Boost.Program_options" libboost-program-options-dev)
endif()
wrap(options Boost::program_options)

# --- data -----------------------------------------------------------------------------------------------
find_package(HDF5 1.10 QUIET COMPONENTS C)
if(NOT HDF5_FOUND)
  missing("HDF5 1.10 or later" libhdf5-dev)
endif()
wrap(hdf5 ${HDF5_C_LIBRARIES})
target_include_directories(trireme_hdf5 SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS})

pkg_check_modules(PCRE2 QUIET IMPORTED_TARGET libpcre2-8)
if(NOT PCRE2_FOUND)
  missing("PCRE2" libpcre2-dev)
endif()
wrap(pcre2 PkgConfig::PCRE2)

find_package(ZLIB QUIET)
if(NOT ZLIB_FOUND)
  missing("zlib" zlib1g-dev)
endif()
wrap(zlib ZLIB::ZLIB)

# --- fast arithmetic --------------------------------------------------------------------------------------
find_package(OpenMP QUIET COMPONENTS CXX)
find_package(BLAS QUIET)
# Debian's dnnl-config.cmake requires OpenCL, which Trireme does not use, so oneDNN is searched for directly.
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h)
find_library(DNNL_LIBRARY dnnl)
if(DNNL_INCLUDE_DIR AND DNNL_LIBRARY)
  set(TRIREME_WITH_ONEDNN ON)
  wrap(fast_math ${DNNL_LIBRARY})
  target_include_directories(trireme_fast_math SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})
  target_compile_definitions(trireme_fast_math INTERFACE TRIREME_WITH_ONEDNN=1)
elseif(BLAS_FOUND)
  set(TRIREME_WITH_ONEDNN OFF)
  wrap(fast_math BLAS::BLAS)
  target_compile_definitions(trireme_fast_math INTERFACE TRIREME_WITH_ONEDNN=0)
  message(STATUS "oneDNN was not found: matrix products use ${BLAS_LIBRARIES} (Debian: libdnnl-dev)")
else()
  missing("a matrix library (oneDNN or a BLAS)" "libdnnl-dev or libopenblas-dev")
endif()
if(OpenMP_CXX_FOUND)
  target_link_libraries(trireme_fast_math INTERFACE OpenMP::OpenMP_CXX)
else()
  message(STATUS "OpenMP was not found: one thread a rank")
endif()

# --- GPUs -------------------------------------------------------------------------------------------------
option(TRIREME_WITH_CUDA "Build what runs on NVIDIA's GPUs, where nvcc is found" ON)
# Each architecture adds a minute to the build. Without a GPU, PTX for Ampere is compiled, which drivers
# translate for every later GPU.
set(architectures 80-virtual)
find_program(NVIDIA_SMI nvidia-smi)
if(NVIDIA_SMI)
  execute_process(COMMAND ${NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE capabilities
                  ERROR_QUIET)
  if(capabilities MATCHES "^([0-9]+)[.]([0-9])")
    set(architectures ${CMAKE_MATCH_1}${CMAKE_MATCH_2}-real)
    string(REPLACE "90-real" "90a-real" architectures ${architectures})
  endif()
endif()
set(TRIREME_CUDA_ARCHITECTURES "${architectures}" CACHE STRING
    "GPUs to compile for, such as 90a-real (machine code for Hopper), 80-virtual, or both with a semicolon between")
find_program(NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
include(${CMAKE_CURRENT_LIST_DIR}/CudaCompiler.cmake)
set(cuda_complaint "nvcc was not found, or TRIREME_WITH_CUDA is OFF, or TRIREME_SANITIZE is ON")
if(TRIREME_WITH_CUDA AND NVCC AND NOT TRIREME_SANITIZE)
  find_cuda_complaint(${NVCC} cuda_complaint)
endif()
if(NOT cuda_complaint)
  set(CMAKE_CUDA_COMPILER ${NVCC})
  set(CMAKE_CUDA_ARCHITECTURES ${TRIREME_CUDA_ARCHITECTURES})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
  enable_language(CUDA)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # CMake 3.25 does not define this option
  find_package(CUDAToolkit 12 REQUIRED)
  wrap(cuda CUDA::cudart_static)
  target_compile_options(trireme_cuda INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;--diag-suppress=554>)
else()
  set(TRIREME_WITH_CUDA OFF)
  message(STATUS "${cuda_complaint}: no --device cuda")
endif()

# The library is loaded at run time, so the build needs only nccl.h. That header comes with the CUDA toolkit or
# separately.
set(cuda_headers $ENV{CUDA_HOME}/include /usr/local/cuda/include)
find_path(NCCL_INCLUDE_DIR nccl.h HINTS $ENV{NCCL_HOME}/include ${cuda_headers})
find_path(CUDA_RUNTIME_INCLUDE_DIR cuda_runtime.h HINTS ${cuda_headers})
set(TRIREME_WITH_NCCL OFF)
wrap(nccl)
if(NCCL_INCLUDE_DIR AND CUDA_RUNTIME_INCLUDE_DIR)
  file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h line REGEX "define NCCL_(MAJOR|MINOR) ")
  string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]+([0-9]+).*" "\\1.\\2" version "${line}")
  if(version VERSION_GREATER_EQUAL 2.18)
    set(TRIREME_WITH_NCCL ON)
    target_include_directories(trireme_nccl SYSTEM INTERFACE ${NCCL_INCLUDE_DIR} ${CUDA_RUNTIME_INCLUDE_DIR})
  endif()
endif()
if(NOT TRIREME_WITH_NCCL)
  message(STATUS "nccl.h of NCCL 2.18 or later was not found: messages between GPUs are staged through host memory (NVIDIA's package repository has libnccl-dev; Debian has none)")
endif()

# --- message passing --------------------------------------------------------------------------------------
find_package(MPI QUIET COMPONENTS C)
if(NOT MPI_C_FOUND)
  missing("MPI 3.1" libopenmpi-dev)
endif()
if(MPI_C_COMPILER MATCHES "mpich" OR MPI_C_LIBRARIES MATCHES "mpich")
  set(TRIREME_MPIS mpich)
else()
  set(TRIREME_MPIS openmpi)
endif()
wrap(${TRIREME_MPIS} MPI::MPI_C)
set(TRIREME_MPIEXEC_${TRIREME_MPIS} ${MPIEXEC_EXECUTABLE})

# If MPICH is installed beside Open MPI, the rank tests run under both.
option(TRIREME_WITH_MPICH "Build for MPICH, too, where it is installed beside Open MPI" ON)
if(TRIREME_MPIS STREQUAL "openmpi" AND TRIREME_WITH_MPICH)
  pkg_check_modules(MPICH QUIET IMPORTED_TARGET mpich)
  find_program(TRIREME_MPIEXEC_mpich NAMES mpiexec.mpich mpiexec.hydra)
  if(MPICH_FOUND AND TRIREME_MPIEXEC_mpich)
    list(APPEND TRIREME_MPIS mpich)
    wrap(mpich PkgConfig::MPICH)
  endif()
endif()

# SimGrid's SMPI is an MPI library whose ranks share one process and run in simulated time. It is off with
# sanitizers, which must be loaded before SMPI's launcher.
option(TRIREME_WITH_SIMGRID "Build trireme-sim, the program of a simulated cluster, where SimGrid is found" ON)
find_path(SIMGRID_INCLUDE_DIR smpi/mpi.h)
find_library(SIMGRID_LIBRARY simgrid)
find_program(SMPIRUN smpirun)
if(NOT TRIREME_WITH_SIMGRID OR TRIREME_SANITIZE)
  message(STATUS "without trireme-sim: TRIREME_WITH_SIMGRID is OFF, or TRIREME_SANITIZE is ON")
elseif(SIMGRID_INCLUDE_DIR AND SIMGRID_LIBRARY AND SMPIRUN)
  list(APPEND TRIREME_MPIS smpi)
  wrap(smpi ${SIMGRID_LIBRARY})
  target_include_directories(trireme_smpi SYSTEM INTERFACE ${SIMGRID_INCLUDE_DIR}/smpi ${SIMGRID_INCLUDE_DIR})
  # Computation and message tests cost no simulated time. Every send waits for its receive, so that no test
  # relies on buffering.
  set(cluster ${CMAKE_SOURCE_DIR}/validation/ranks/cluster)
  set(TRIREME_MPIEXEC_smpi
      ${SMPIRUN} -platform ${cluster}.xml -hostfile ${cluster}.hosts --log=root.thresh:critical
      --cfg=network/model:CM02 --cfg=network/TCP-gamma:0 --cfg=network/crosstraffic:0
      --cfg=smpi/simulate-computation:no --cfg=smpi/host-speed:1Gf --cfg=smpi/test:0
      --cfg=smpi/send-is-detached-thresh:0 --cfg=smpi/async-small-thresh:0)
else()
  message(STATUS "SimGrid was not found: no trireme-sim (Debian: libsimgrid-dev)")
endif()

foreach(mpi IN LISTS TRIREME_MPIS)
  # Excludes mpi.h's C++ classes, which MPI 3 removed and which need a library of their own.
  target_compile_definitions(trireme_${mpi} INTERFACE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)
endforeach()
message(STATUS "MPI libraries: ${TRIREME_MPIS}")
