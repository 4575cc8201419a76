// Any text is a layout, which can be written and read back, or is refused with a ConfigError.
#include "fuzz/target.hpp"
#include "trireme/plan/plan.hpp"

void trireme::fuzz::layout(std::string_view bytes) {
    read_or_refuse([&] { return layout_from_json(bytes, "the input"); },
                   [](const Layout& found) {
                       require(layout_from_json(json_of(found), "again") == found,
                               "a layout does not come back from its text");
                   });
}
