// The results of a training, and the differences between the results of two trainings.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace trireme::equivalence {

struct Figures {
    std::vector<double> losses;                             // per step
    std::vector<double> norms;                              // gradient norm per step
    std::vector<bool> rolled_back;                          // per step, if updates are speculative
    std::vector<double> evaluations;                        // validation losses
    std::map<std::string, std::vector<double>> parameters;  // complete tensors of the last checkpoint

    friend bool operator==(const Figures&, const Figures&) = default;
};

// Reads the results of a finished run directory.
Figures read_figures(const std::filesystem::path& run);

// The largest relative differences. For parameters: the norm of the difference relative to the tensor's norm.
struct Difference {
    double losses = 0;  // with evaluations
    double norms = 0;
    double parameters = 0;
    double key_biases = 0;  // excluded from `parameters`, because no result depends on them
};

// Returns infinity if the numbers of steps, evaluations or elements differ, or if a value is not a number.
Difference difference(const Figures& figures, const Figures& expected);

// Returns true if all differences are at most 1e-10 in f64. In f32 the limit is 1e-5, and 1e-4 for parameters,
// because AdamW divides gradients by their size and so amplifies rounding errors. Key biases, whose gradients
// are rounding errors only, are ignored in f32.
bool is_within_tolerance(const Difference& difference, bool is_double);
std::string to_string(const Difference& difference);

}  // namespace trireme::equivalence
