// model.h5: every tensor of a checkpoint whole, and every moment.
#pragma once

#include <string>

#include "trireme/checkpoint/checkpoint_state.hpp"

namespace trireme {

// What the saves of a state have in common: made once, as HDF5 takes its time over each tensor.
class WholeTensors {
public:
    // Throws ResourceError.
    explicit WholeTensors(const CheckpointState& state);

    // All bytes of model.h5 beside the parts of a save of that state, which has as many digits. HDF5 is not
    // needed; any thread may ask.
    std::string shown_of(const std::string& save) const;

private:
    std::string save_;
    std::string bytes_;  // of model.h5 of that save
};

}  // namespace trireme
