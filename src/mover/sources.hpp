// Who sends.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace trireme {

class Sources {
public:
    explicit Sources(const std::vector<int>& nodes) : nodes_(nodes) {}  // which outlive it

    // One of `holders`, for so many elements that `destination` is to get.
    int choose(const std::vector<int>& holders, int destination, std::size_t elements);

private:
    bool are_near(int a, int b) const;

    const std::vector<int>& nodes_;
    std::map<int, std::size_t> sent_;  // elements, by rank
};

}  // namespace trireme
