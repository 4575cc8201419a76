#include "trireme/base/json_text.hpp"

#include <nlohmann/json.hpp>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme {
namespace {

struct NestingTooDeep {};  // thrown by the parser's callback

template <class Json>
Json parse_up_to_depth(std::string_view text) {
    using Event = typename Json::parse_event_t;
    const auto check_depth = [&](int depth, Event event, const Json&) {
        const bool opens_level = event == Event::object_start || event == Event::array_start;
        if (!opens_level || depth < max_json_depth) return true;  // true: keep the value
        throw NestingTooDeep();
    };
    return Json::parse(text, check_depth);
}

}  // namespace

template <class Json>
Json parse_json(std::string_view text, std::string_view source) {
    try {
        return parse_up_to_depth<Json>(text);
    } catch (const NestingTooDeep&) {
        throw ConfigError(cat(source, " is nested deeper than ", max_json_depth,
                              " levels, the limit for inputs of Trireme; check that it is the right file"));
    } catch (const typename Json::parse_error& error) {
        const bool is_cut_off = error.byte > text.size();
        const std::string fault = is_cut_off ? cat("ends too early, after ", format_count(text.size(), "byte"))
                                             : cat("has an error at byte ", error.byte, " of ", text.size());
        throw ConfigError(cat(source, " is not valid JSON: it ", fault, "; correct it, or copy it again"));
    } catch (const typename Json::out_of_range&) {
        throw ConfigError(cat(source, " contains a number that is too large for a double; correct the number"));
    }
}

template <class Json>
std::optional<Json> try_parse_json(std::string_view text) {
    try {
        return parse_up_to_depth<Json>(text);
    } catch (const NestingTooDeep&) {
        return std::nullopt;
    } catch (const typename Json::exception&) {
        return std::nullopt;
    }
}

template nlohmann::json parse_json(std::string_view, std::string_view);
template nlohmann::ordered_json parse_json(std::string_view, std::string_view);
template std::optional<nlohmann::json> try_parse_json(std::string_view);
template std::optional<nlohmann::ordered_json> try_parse_json(std::string_view);

}  // namespace trireme
