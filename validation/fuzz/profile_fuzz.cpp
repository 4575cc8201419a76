// Any text is a profile that can be written and read back, or it is refused with a ConfigError.
#include "fuzz/target.hpp"
#include "trireme/plan/profile.hpp"

void trireme::fuzz::profile(std::string_view bytes) {
    read_or_refuse([&] { return plan::parse_profile(bytes, "the input"); },
                   [](const plan::Profile& found) {
                       const std::string text = to_json(found);
                       require(to_json(plan::parse_profile(text, "again")) == text,
                               "a profile does not come back from its text");
                   });
}
