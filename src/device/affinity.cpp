#include "device/affinity.hpp"

namespace trireme {
namespace {

// A vector of cpu_set_t is as contiguous as what CPU_ALLOC returns, and frees itself.
std::vector<int> cores_in(const std::vector<cpu_set_t>& mask) {
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    std::vector<int> numbers;
    for (std::size_t core = 0; core < bytes * 8; ++core) {
        if (CPU_ISSET_S(core, bytes, mask.data())) numbers.push_back(static_cast<int>(core));
    }
    return numbers;
}

}  // namespace

std::vector<int> cores_in_mask(const MaskReader& read) {
    constexpr std::size_t most_sets = (std::size_t{1} << 20) / CPU_SETSIZE;
    for (std::size_t sets = 1; sets <= most_sets; sets *= 2) {
        std::vector<cpu_set_t> mask(sets);
        if (read(sets * sizeof(cpu_set_t), mask.data())) return cores_in(mask);
    }
    return {0};
}

}  // namespace trireme
