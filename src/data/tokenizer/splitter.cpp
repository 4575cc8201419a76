#include "data/tokenizer/splitter.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "data/tokenizer/byte_text.hpp"
#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

// GPT-2's regular expression, in which \s is replaced by [\p{Z}\t-\r\x85]: PCRE2's \s also contains U+180E,
// which Unicode no longer counts as white space.
constexpr const char* gpt2_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{Z}\x{9}-\x{d}\x{85}\p{L}\p{N}]+)"
    R"(|[\p{Z}\x{9}-\x{d}\x{85}]+(?![^\p{Z}\x{9}-\x{d}\x{85}])|[\p{Z}\x{9}-\x{d}\x{85}]+)";

pcre2_code* compile_pattern() {
    int error = 0;
    PCRE2_SIZE at = 0;
    const auto* pattern = reinterpret_cast<PCRE2_SPTR>(gpt2_pattern);
    pcre2_code* code = pcre2_compile(pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED,
                                     &error, &at, nullptr);
    if (code == nullptr)
        throw ResourceError(cat("PCRE2 refuses GPT-2's pattern at character ", at, " with its error ", error,
                                "; link a PCRE2 that was built with Unicode support"));
    // An error of the JIT compiler is ignored, for example where memory must not be executable: without JIT,
    // matching is slower but finds the same pre-tokens.
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    return code;
}

}  // namespace

void Splitter::FreePattern::operator()(void* pattern) const {
    pcre2_code_free(static_cast<pcre2_code*>(pattern));
}

void Splitter::FreeMatch::operator()(void* match) const {
    pcre2_match_data_free(static_cast<pcre2_match_data*>(match));
}

Splitter::Splitter() : pattern_(compile_pattern()) {}

Splitter::Cursor::Cursor(const Splitter& splitter, std::string_view text)
    : pattern_(splitter.pattern_.get()), match_(pcre2_match_data_create(1, nullptr)), text_(text) {
    if (match_ == nullptr)
        throw ResourceError(
            "PCRE2 has no memory for a match; end other programs, or use a machine with more memory");
}

std::string_view Splitter::Cursor::next() {
    if (position_ == text_.size()) return {};
    if (position_ >= utf8_end_) utf8_end_ = position_ + find_utf8_prefix(text_.substr(position_));
    if (position_ == utf8_end_) return text_.substr(position_++, 1);

    auto* match = static_cast<pcre2_match_data*>(match_.get());
    const int groups =
        pcre2_match(static_cast<const pcre2_code*>(pattern_), reinterpret_cast<PCRE2_SPTR>(text_.data()),
                    utf8_end_, position_, PCRE2_NO_UTF_CHECK, match, nullptr);
    const std::size_t end = groups > 0 ? pcre2_get_ovector_pointer(match)[1] : position_;
    if (end <= position_)
        throw BugError(cat("GPT-2's pattern found no pre-token at byte ", position_, " of a text of ",
                           text_.size(), " bytes (PCRE2 answered ", groups, "); please report it"));
    const std::string_view pretoken = text_.substr(position_, end - position_);
    position_ = end;
    return pretoken;
}

}  // namespace trireme::data
