// What a training came to, and how far two trainings are from each other.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace trireme::equivalence {

struct Figures {
    std::vector<double> losses;                             // of each step
    std::vector<double> norms;                              // of each step's gradient
    std::vector<bool> rolled_back;                          // of each step, where updates are validated
    std::vector<double> evaluations;                        // losses on what was kept for validation
    std::map<std::string, std::vector<double>> parameters;  // of the checkpoint at the end, whole tensors

    friend bool operator==(const Figures&, const Figures&) = default;
};

// Of a finished run directory.
Figures read_figures(const std::filesystem::path& run);

// The largest relative differences; of parameters, the length of the difference relative to the tensor's.
struct Difference {
    double losses = 0;  // and evaluations
    double norms = 0;
    double parameters = 0;
    double key_biases = 0;  // which are not among the parameters: nothing depends on them
};

// Infinite where one has another number of steps, evaluations or elements, or what is no number.
Difference difference(const Figures& figures, const Figures& expected);

// 1e-10 in f64. In f32 1e-5, but for parameters 1e-4: adamw divides a gradient by its size, and so makes of
// rounding what it makes of a gradient; key biases, which are made of rounding alone, are left out.
bool keeps_bars(const Difference& difference, bool is_double);
std::string to_string(const Difference& difference);

}  // namespace trireme::equivalence
