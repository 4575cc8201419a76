// Random damage to programs, the same in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trireme/base/random.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Draws from one stream of random numbers, one after the other.
class Draw {
public:
    explicit Draw(RandomKey key) : key_(key) {}

    std::size_t below(std::size_t count) { return random_block(key_, position_++)[0] % count; }
    int within(int first, int last) {
        return first + static_cast<int>(below(static_cast<std::size_t>(last - first + 1)));
    }
    bool one_in(std::size_t count) { return below(count) == 0; }

private:
    RandomKey key_;
    std::uint64_t position_ = 0;
};

// Damages the programs once, in a way of which there is at least one instruction to do it to, and says in words
// what it did. `programs` must have an instruction. They differ afterwards from what they were.
//   erase      an instruction is missing
//   duplicate  one stands twice
//   retarget   one names another stage or micro-batch, also one that does not exist
//   swap       two neighbours, or any two of a program, change places
//   cross      two messages of a channel change places at one of its ends
//   move       one stands elsewhere in its program, or in that of another team
//   age        a pass uses older or newer weights
//   update     a STEP is missing, stands twice, or stands on the other side of a forward; there, the passes
//              between have the ages of the weights they used, or those they had
std::string damage_once(std::vector<Program>& programs, const PipelineShape& shape, Draw& draw);

}  // namespace trireme::schedule
