// Small models that are distributed over ranks in various ways, and numbers for their elements.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::validation {

// The parameters that each rank of the job holds.
struct Holdings {
    std::vector<std::vector<model::ParameterSpec>> specs;  // per rank
};

// Distributions over `ranks` ranks, at least two.
Holdings held_by_all(std::size_t ranks);            // with a fused matrix whose three boxes are adjacent
Holdings make_whole_and_halves(std::size_t ranks);  // rank 0: all columns; other ranks: a half
Holdings make_tied_table(std::size_t ranks);        // a table: whole on rank 0, in parts on the others
Holdings held_twice(std::size_t ranks);             // both ranks of a pair hold the same keys
Holdings fused_parts(std::size_t ranks);            // rank 0: the whole matrix; other ranks: three boxes
Holdings nothing_on_the_last(std::size_t ranks);
Holdings ring_of_neighbours(std::size_t ranks);  // each rank shares many tensors with both neighbours

// Numbers the tensors in the order in which ranks first hold them, which is that of a forward pass.
stage::GradientPlan plan_of(const Holdings& holdings, const layout::BucketRules& rules);

struct Element {
    const std::string& tensor;
    std::size_t row = 0;  // in the global tensor
    std::size_t column = 0;
};

// Calls use(element, row, column) for all elements that a rank holds of a parameter, with their position in the
// rank's memory.
void for_each_element(const model::ParameterSpec& spec,
                      const std::function<void(const Element&, std::size_t, std::size_t)>& use);

// Returns the ranks that hold an element, ascending.
std::vector<int> holders_of(const Holdings& holdings, const Element& element);

// Elements of a rank's gradient. Sums of whole_number() are exact; sums of fraction() are rounded.
double whole_number(int rank, const Element& element);
double fraction(int rank, const Element& element);

}  // namespace trireme::validation
