// Small models spread over the ranks of a job in various ways, and numbers for their elements.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::validation {

// What each rank of the job holds.
struct Holdings {
    std::vector<std::vector<model::ParameterSpec>> specs;  // of each rank
};

// For a job of so many ranks, at least two.
Holdings held_by_all(std::size_t ranks);           // and a fused matrix whose three boxes are neighbours
Holdings whole_beside_halves(std::size_t ranks);   // rank 0 whole, the others halves of the columns
Holdings tied_on_unlike_ranks(std::size_t ranks);  // a table on the first rank and, in parts, on the others
Holdings held_twice(std::size_t ranks);            // by the ranks of a pair
Holdings fused_parts(std::size_t ranks);           // rank 0 whole, the others three boxes each
Holdings nothing_on_the_last(std::size_t ranks);
Holdings ring_of_neighbours(std::size_t ranks);  // each rank has much in common with two others

// Tensors in the order in which a rank first holds them, which is that of a forward pass.
stage::GradientPlan plan_of(const Holdings& holdings, const layout::BucketRules& rules);

struct Element {
    const std::string& tensor;
    std::size_t row = 0;  // in the global tensor
    std::size_t column = 0;
};

// Calls use(element, row, column) for all elements that a rank holds of a parameter, with where it has them.
void for_each_element(const model::ParameterSpec& spec,
                      const std::function<void(const Element&, std::size_t, std::size_t)>& use);

// The ranks that hold an element, ascending.
std::vector<int> holders_of(const Holdings& holdings, const Element& element);

// Of a rank's gradient: a small whole number, which sums without rounding, and one that does not.
double whole_number(int rank, const Element& element);
double fraction(int rank, const Element& element);

}  // namespace trireme::validation
