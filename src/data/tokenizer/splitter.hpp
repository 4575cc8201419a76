// Splits text into the pre-tokens of GPT-2: words, numbers, punctuation and spaces. A merge never joins tokens
// of two pre-tokens.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace trireme::data {

// Splits text by GPT-2's regular expression. Unicode classes are those of PCRE2's tables; white space is
// defined as in Python's regex module, which GPT-2's tokenizer uses. A splitter is immutable, so that any
// number of threads may share it.
class Splitter {
public:
    Splitter();

    // Calls visit(std::string_view pretoken) for the consecutive, non-empty pre-tokens of `text`. A byte that
    // is not part of well-formed UTF-8 is a pre-token by itself.
    template <class Visit>
    void split(std::string_view text, Visit visit) const {
        Cursor cursor(*this, text);
        for (std::string_view pretoken = cursor.next(); !pretoken.empty(); pretoken = cursor.next())
            visit(pretoken);
    }

private:
    struct FreePattern {
        void operator()(void* pattern) const;
    };
    struct FreeMatch {
        void operator()(void* match) const;
    };

    class Cursor {
    public:
        Cursor(const Splitter& splitter, std::string_view text);
        std::string_view next();  // empty at the end of the text

    private:
        const void* pattern_;
        std::unique_ptr<void, FreeMatch> match_;
        std::string_view text_;
        std::size_t position_ = 0;  // start of the next pre-token
        std::size_t utf8_end_ = 0;  // text_[position_, utf8_end_) is UTF-8
    };

    std::unique_ptr<void, FreePattern> pattern_;  // a pcre2_code
};

}  // namespace trireme::data
