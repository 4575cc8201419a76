// Spans of time as people write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace trireme {

// "3h50m", "1d", "90s", "90": units in the order d, h, m, s, each once; nothing of other texts.
std::optional<double> seconds_in(std::string_view text);

// "3h50m" for 13,800; reads back as the same whole number of seconds.
std::string duration_text(double seconds);

}  // namespace trireme
