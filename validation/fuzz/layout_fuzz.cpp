// Any text is a layout that can be written and read back, or it is refused with a ConfigError.
#include "fuzz/target.hpp"
#include "trireme/plan/plan.hpp"

void trireme::fuzz::layout(std::string_view bytes) {
    read_or_refuse([&] { return plan::parse_layout(bytes, "the input"); },
                   [](const layout::Layout& found) {
                       require(plan::parse_layout(plan::to_json(found), "again") == found,
                               "a layout does not come back from its text");
                   });
}
