// A pool of activation stashes of one size. A stash is allocated by reserve(), or by take() if no stash is
// free. A stash is reused after give_back().
#pragma once

#include <memory>
#include <vector>

#include "trireme/stage/stage.hpp"

namespace trireme::stage {

class StashPool {
public:
    StashPool(std::size_t bytes_per_stash, device::MemorySpace memory_space)
        : bytes_per_stash_(bytes_per_stash), memory_space_(memory_space) {}

    // Returns an empty stash.
    std::unique_ptr<ActivationStash> take() {
        if (free_stashes_.empty()) allocate_one();
        std::unique_ptr<ActivationStash> stash = std::move(free_stashes_.back());
        free_stashes_.pop_back();
        return stash;
    }
    void give_back(std::unique_ptr<ActivationStash> stash) {
        stash->clear();
        free_stashes_.push_back(std::move(stash));
    }

    // Allocates stashes until there are `count`, including those in use.
    void reserve(std::size_t count) {
        while (count_ < count) allocate_one();
    }
    std::size_t bytes() const { return count_ * bytes_per_stash_; }  // bytes of all allocated stashes

private:
    void allocate_one() {
        free_stashes_.push_back(std::make_unique<ActivationStash>(bytes_per_stash_, memory_space_));
        ++count_;
    }

    std::size_t bytes_per_stash_;
    device::MemorySpace memory_space_;
    std::vector<std::unique_ptr<ActivationStash>> free_stashes_;
    std::size_t count_ = 0;  // number of allocated stashes, including those in use
};

}  // namespace trireme::stage
