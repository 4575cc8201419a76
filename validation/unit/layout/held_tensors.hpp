// Small tensors held in every way that layouts lead to.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/pieces.hpp"

namespace trireme::validation {

struct HeldCase {
    std::string name;
    std::vector<layout::HeldTensor> tensors;
};

// Shares of columns and rows, replicas cut alike and unlike, tied tables, groups held twice, fused projections;
// and 60 tensors of random boxes.
std::vector<HeldCase> held_cases();

// Whole on `ranks`, as replicas of one share each hold it.
layout::HeldTensor whole_tensor(const std::string& name, std::size_t rows, std::size_t columns,
                                const std::vector<int>& ranks, std::size_t last_use = 0);

// The slices of one replica, whose first rank is `first`: consecutive ranks share the columns.
std::vector<layout::Slice> column_slices(std::size_t rows, std::size_t columns, int first,
                                         const std::vector<std::size_t>& shares);
std::vector<layout::Slice> row_slices(std::size_t rows, std::size_t columns, int first,
                                      const std::vector<std::size_t>& shares);

}  // namespace trireme::validation
