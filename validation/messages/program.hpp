// The real program, run as a user runs it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trireme::messages {

struct Outcome {
    int code = -1;  // 128 + n: killed by signal n
    std::string out;
    std::string err;
};

// How many MPI libraries the program was built with. Numbers up to programs() name the simulator's too, which
// has no processes and runs no program alone.
std::size_t mpi_libraries();
std::size_t programs();
// The programs that a test of `ranks` ranks under every MPI library runs. MPICH's ranks keep a core busy while
// they wait, so more than three of them run only with TRIREME_ALL_SIZES, or where MPICH is the only library.
std::vector<std::size_t> programs_for(int ranks);
std::string program_path(std::size_t mpi = 0);
// Beyond those: of the program that an MPI library's ranks run on an emulated GPU, which they share.
std::size_t on_emulated_gpu(std::size_t mpi = 0);

// Runs `trireme <arguments>` in `folder`, alone or with `ranks` ranks under mpiexec, built with MPI library
// number `mpi`. Its words are gathered in files beside `folder`.
Outcome run_program(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
                    int ranks = 0, std::size_t mpi = 0);

// The same with a command of its own for each rank, which names the program: words with blanks between.
Outcome run_ranks(const std::filesystem::path& folder, const std::vector<std::string>& commands,
                  std::size_t mpi);

// The sentences among what it said on standard error: mpiexec adds words of its own.
std::vector<std::string> sentences(const Outcome& outcome);

}  // namespace trireme::messages
