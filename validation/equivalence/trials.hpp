// Trains small models in a temporary folder, as a user does.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "equivalence/cases.hpp"
#include "equivalence/figures.hpp"

namespace trireme::equivalence {

// Options of small models.
inline constexpr const char* gpt2_tied = "--model gpt2-tiny --tied on --width 16 --heads 4";
inline constexpr const char* gpt2_untied = "--model gpt2-tiny --tied off --width 16 --heads 4";
inline constexpr const char* llama_untied =
    "--model llama-tiny --tied off --width 16 --heads 4 --groups 2 --mlp-width 20";

inline constexpr const char* in_double = " --dtype f64 --device reference";
inline constexpr const char* in_single = " --dtype f32 --device cpu";

class Trials {
public:
    // Makes a corpus of rows with different lengths, and the layout files, in the existing folder `folder`.
    // `steps` has the options of trainings; the default is twenty steps with two evaluations.
    explicit Trials(std::filesystem::path folder, std::string steps = "--steps 20 --eval-every 10");

    // Runs a case under MPI library number `mpi`: see messages/program.hpp. Throws std::runtime_error with the
    // program's message if it fails.
    Figures run(const Case& chosen, std::size_t mpi);

    // Runs a case with `dtype` on an emulated GPU that its ranks share, with `more` options.
    Figures run_on_gpu(const Case& chosen, const std::string& dtype, std::size_t mpi,
                       const std::string& more = "");

    // Returns the results of the same training on a single rank, padded and in one micro-batch. It runs once
    // per model and precision.
    const Figures& one_rank(const Case& chosen);

    // Run any training. The first adds the options of steps and the run directory, the second only the latter.
    Figures run(const std::string& options, int ranks, std::size_t mpi);
    Figures run_steps(const std::string& options, int ranks, std::size_t mpi);

    // Renames the directory of the last run, so that others can start from it.
    void keep_as(const std::string& name) const;

    // Returns the loss of a stored model on all rows, by `trireme evaluate` with these options.
    double evaluate(const std::string& options, int ranks, std::size_t mpi) const;

private:
    void call(const std::string& line, int ranks, std::size_t mpi) const;

    std::filesystem::path folder_;
    std::string steps_;
    std::map<std::string, Figures> ones_;
};

}  // namespace trireme::equivalence
