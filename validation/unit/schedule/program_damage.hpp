// Random damage to programs, reproducible in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trireme/base/random.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Draws numbers from one stream of random numbers, one after the other.
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

// Damages the programs once and returns a description of the damage. The kind of damage is one that applies to
// at least one instruction. `programs` must contain an instruction; they differ afterwards.
//   erase      an instruction is missing
//   duplicate  an instruction occurs twice
//   retarget   an instruction names another stage or micro-batch, possibly one that does not exist
//   swap       two neighbours, or any two instructions of a program, change places
//   cross      two messages of a channel change places at one of its ends
//   move       an instruction is elsewhere in its program, or in that of another team
//   age        a pass uses older or newer weights
//   update     a STEP or VALIDATE is missing, occurs twice, or is on the other side of a forward; the
//              passes in between then keep either the weights that they used or their ages
std::string damage_once(std::vector<Program>& programs, const PipelineShape& shape, Draw& draw);

}  // namespace trireme::schedule
