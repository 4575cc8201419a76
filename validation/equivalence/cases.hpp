// The factors of the equivalence tests and their levels: the ways in which a training can run.
#pragma once

#include <string>
#include <vector>

#include "equivalence/covering.hpp"
#include "equivalence/figures.hpp"

namespace trireme::equivalence {

struct Factor {
    enum Number : std::size_t {
        layout,  // a grid, or one of layout_files()
        pipe,    // stages of a grid, without chunks
        data,
        tensor,
        schedule,  // with the number of stages per rank
        microbatches,
        model,
        recompute,
        partition,
        optimizer,
        rows,  // sequence parallelism between the branches
        length,
        precision,
        frozen,  // frozen blocks
    };
};

struct FactorLevels {
    std::string name;
    std::vector<std::string> levels;
};

std::vector<FactorLevels> factor_levels();

// Returns all cases that the program can run on at most 8 ranks.
CaseSpace product_of_factors();

// Converts a case to text such as "layout=grid pipe=2 data=2 tensor=1 schedule=1f1b*1 ..." and back. Factors
// that the text omits get their first level with which the case can run. Throws std::invalid_argument for other
// texts.
std::string to_string(const Case& chosen);
Case parse_case(const std::string& name);

// Return the options of `train` that determine the results; those that must not change them; and of the latter,
// those of `evaluate`. A layout file is expected as <name>.json in the working folder.
std::string training_options(const Case& chosen);
std::string way_options(const Case& chosen);
std::string evaluation_options(const Case& chosen);
int ranks_of(const Case& chosen);
std::string precision_of(const Case& chosen);  // "f64"

// Replaces the options of precision and device by those of a run on GPUs with `dtype`.
std::string on_gpu(std::string options, const std::string& dtype);

// True if the differences are within the tolerances of the case's precision.
bool is_within_tolerance(const Difference& difference, const Case& chosen);

}  // namespace trireme::equivalence
