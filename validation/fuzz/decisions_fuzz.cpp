// Any text is a list of decisions that can be written and read back, or it is refused with a ConfigError.
#include "fuzz/target.hpp"
#include "trireme/plan/decision.hpp"

void trireme::fuzz::decisions(std::string_view bytes) {
    read_or_refuse([&] { return plan::parse_decisions(bytes, "the input"); },
                   [](const std::vector<plan::Decision>& found) {
                       std::string text;
                       for (const plan::Decision& decision : found) text += to_json(decision) + '\n';
                       std::string again;
                       for (const plan::Decision& decision : plan::parse_decisions(text, "again"))
                           again += to_json(decision) + '\n';
                       require(again == text, "decisions do not come back from their text");
                   });
}
