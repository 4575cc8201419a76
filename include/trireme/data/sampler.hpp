// The order in which samples are visited. Visit number v of a run is sample permutation(v % count) of epoch
// v / count: no state, so a run can go on at any visit, and the number of ranks does not matter.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/base/random.hpp"
#include "trireme/plan/micro_batch.hpp"

namespace trireme {

class Sampler {
public:
    Sampler(std::uint64_t samples, std::uint64_t seed);  // samples > 0

    SampleVisit visit(std::uint64_t ordinal) const;
    std::vector<SampleVisit> visits(std::uint64_t first_ordinal, std::size_t count) const;

private:
    std::uint64_t permuted(std::uint64_t epoch, std::uint64_t position) const;

    std::uint64_t samples_;
    RandomKey key_;
    int half_bits_;  // the permutation works on 2 * half_bits_ bits
};

}  // namespace trireme
