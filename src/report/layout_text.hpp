// Layouts in words.
#pragma once

#include <string>

#include "trireme/layout/layout.hpp"

namespace trireme::report {

// "2 stages x 3 replicas x 1 tensor rank"; of a layout that is no grid, "3 stages with 1, 2, 1 replicas".
std::string grid_text(const Layout& layout);

// Every stage on a line, as `trireme plan` prints it; of a large layout grid_text().
std::string stages_text(const Layout& layout);

}  // namespace trireme::report
