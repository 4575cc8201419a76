// Trainings of small models in a folder of their own, run as a user runs them.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "equivalence/cases.hpp"
#include "equivalence/figures.hpp"

namespace trireme::equivalence {

inline constexpr const char* in_double = " --dtype f64 --device reference";
inline constexpr const char* in_single = " --dtype f32 --device cpu";

class Trials {
public:
    // Makes a corpus of rows of unlike length, and the layout files, in `folder`, which is there. Trainings are
    // of `steps`: twenty, unless told otherwise, with two evaluations.
    explicit Trials(std::filesystem::path folder, std::string steps = "--steps 20 --eval-every 10");

    // A case under the MPI library of that number: see messages/program.hpp. Throws std::runtime_error with the
    // program's words if it fails.
    Figures run(const Case& chosen, std::size_t mpi);

    // On emulated GPUs, which its ranks share, in these numbers.
    Figures run_on_gpu(const Case& chosen, const std::string& dtype, std::size_t mpi,
                       const std::string& more = "");

    // The same training on a single rank, padded and in one micro-batch. Run once for each model and precision.
    const Figures& one_rank(const Case& chosen);

    // Any training, complete but for its steps and the run directory; or for the run directory alone.
    Figures run(const std::string& options, int ranks, std::size_t mpi);
    Figures run_steps(const std::string& options, int ranks, std::size_t mpi);

    // The last run's directory under another name, to start from.
    void keep_as(const std::string& name) const;

    // The loss of a stored model on all rows, by `trireme evaluate` with these options.
    double evaluate(const std::string& options, int ranks, std::size_t mpi) const;

private:
    void call(const std::string& line, int ranks, std::size_t mpi) const;

    std::filesystem::path folder_;
    std::string steps_;
    std::map<std::string, Figures> ones_;
};

}  // namespace trireme::equivalence
