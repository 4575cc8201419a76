#include "data/span_rows.hpp"

#include "trireme/base/error.hpp"

namespace trireme {

SpanRows span_rows(const Question& places, std::size_t length) {
    if (length <= places.context_begin + span_specials)
        throw BugError(cat("a sample of ", length, " rows for a question of ", places.context_begin));
    constexpr std::uint32_t specials_before_context = 2;
    SpanRows rows{.context_begin = static_cast<std::int32_t>(places.context_begin + specials_before_context),
                  .context_end = static_cast<std::int32_t>(length - 1)};
    const std::size_t answer_end = std::size_t{places.answer_last} + specials_before_context + 1;
    if (answer_end <= length - 1) {
        rows.answer_first = static_cast<std::int32_t>(places.answer_first + specials_before_context);
        rows.answer_last = static_cast<std::int32_t>(places.answer_last + specials_before_context);
    }
    return rows;
}

}  // namespace trireme
