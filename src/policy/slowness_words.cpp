#include "policy/slowness_words.hpp"

#include <fmt/format.h>

namespace trireme {

std::string words_of_slowness(const Observation& observed) {
    std::string reason;
    for (std::size_t rank = 0; rank < observed.slowness.size(); ++rank) {
        if (observed.slowness[rank] == 1) continue;
        reason += fmt::format("{}rank {} takes {:.1f} times as long as others", reason.empty() ? "" : ", ",
                              rank, observed.slowness[rank]);
    }
    return reason.empty() ? "no rank is slow any more" : reason;
}

}  // namespace trireme
