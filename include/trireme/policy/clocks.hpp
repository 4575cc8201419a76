// Clocks at which devices need little energy.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::policy {

// Returns the clocks to try, in MHz: the highest one, and the clocks nearest to 90 MHz, 180 MHz and so on below
// it, down to the lowest clock. `mhz` lists the clocks of a device, highest first.
std::vector<int> list_candidate_clocks(const std::vector<int>& mhz);

// Returns, per device, the candidate at which the joules of a whole step are least; of equal ones, the highest
// clock. `joules` is indexed by [candidate][device].
std::vector<std::size_t> find_best_clocks(const std::vector<std::vector<double>>& joules);

}  // namespace trireme::policy
