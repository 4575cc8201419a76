// Any text is a profile that can be written and read back, or it is refused with a ConfigError.
#include "fuzz/target.hpp"
#include "trireme/plan/profile.hpp"

void trireme::fuzz::profile(std::string_view bytes) {
    read_or_refuse([&] { return plan::profile_from_json(bytes, "the input"); },
                   [](const plan::Profile& found) {
                       const std::string text = json_of(found);
                       require(json_of(plan::profile_from_json(text, "again")) == text,
                               "a profile does not come back from its text");
                   });
}
