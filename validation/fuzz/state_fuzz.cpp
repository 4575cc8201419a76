// Any text is a checkpoint state that can be written and read back, or it is refused with a ConfigError.
#include "fuzz/target.hpp"
#include "trireme/checkpoint/checkpoint_state.hpp"

void trireme::fuzz::state(std::string_view bytes) {
    read_or_refuse([&] { return checkpoint::parse_checkpoint_state(bytes, "the input"); },
                   [](const checkpoint::CheckpointState& found) {
                       const std::string text = to_json(found);
                       require(to_json(checkpoint::parse_checkpoint_state(text, "again")) == text,
                               "a state does not come back from its text");
                   });
}
