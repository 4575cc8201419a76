// Apart from the clock itself, which a simulation has another one of.
#include "trireme/device/power.hpp"

namespace trireme {

void set_clock(std::size_t state, Stream& stream) {
    set_clock_state(state);
    stream.clock = clock_states()[state].speed;
}

}  // namespace trireme
