// Small tensors, held in every way that layouts lead to.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/pieces.hpp"

namespace trireme::validation {

struct HeldCase {
    std::string name;
    std::vector<layout::HeldTensor> tensors;
};

// Returns tensors with shares of columns and of rows, replicas with equal and with unequal cuts, tied tables,
// groups held twice and fused projections, and 60 tensors of random boxes.
std::vector<HeldCase> held_cases();

// Returns a tensor that each of `ranks` holds completely, as replicas of one rank do.
layout::HeldTensor whole_tensor(const std::string& name, std::size_t rows, std::size_t columns,
                                const std::vector<int>& ranks, std::size_t last_use = 0);

// Return the slices of a replica whose first rank is `first`. Consecutive ranks share the columns or rows.
std::vector<layout::Slice> column_slices(std::size_t rows, std::size_t columns, int first,
                                         const std::vector<std::size_t>& shares);
std::vector<layout::Slice> row_slices(std::size_t rows, std::size_t columns, int first,
                                      const std::vector<std::size_t>& shares);

}  // namespace trireme::validation
