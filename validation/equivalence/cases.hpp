// In which ways a training is run: the factors of the equivalence tests and their levels.
#pragma once

#include <string>
#include <vector>

#include "equivalence/covering.hpp"
#include "equivalence/figures.hpp"

namespace trireme::equivalence {

struct Factor {
    enum Number : std::size_t {
        layout,  // a grid, or one of layout_files()
        pipe,    // of a grid
        data,
        tensor,
        schedule,  // and the stages of a rank
        microbatches,
        model,
        recompute,
        partition,
        optimizer,
        rows,  // between the branches: sequence parallelism
        length,
        precision,
    };
};

struct FactorLevels {
    std::string name;
    std::vector<std::string> levels;
};

std::vector<FactorLevels> factor_levels();

// Every case that the program can run, on at most 8 ranks.
Product product_of_factors();

// "layout=grid pipe=2 data=2 tensor=1 schedule=1f1b*1 ...": what case_named() takes, which gives what is not
// named its first level that can be run. Throws std::invalid_argument for another text.
std::string name_of(const Case& chosen);
Case case_named(const std::string& name);

// Options that say what is trained and in which numbers; those that must not matter; of these, what an
// evaluation knows. A layout file is taken to lie in the working folder as <name>.json.
std::string training_options(const Case& chosen);
std::string way_options(const Case& chosen);
std::string evaluation_options(const Case& chosen);
int ranks_of(const Case& chosen);
std::string precision_of(const Case& chosen);  // "f64"

// Options that say of numbers and kernels what GPUs are asked for instead.
std::string on_gpu(std::string options, const std::string& dtype);

// Those of its precision.
bool keeps_bars(const Difference& difference, const Case& chosen);

}  // namespace trireme::equivalence
