// Splits text into GPT-2's pre-tokens, the pieces that merges never cross.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace trireme::data {

// Splits by GPT-2's pattern. Unicode classes are those of PCRE2's tables; white space is defined as in Python's
// regex module, with which GPT-2 was trained. Immutable: any number of threads may share one.
class Splitter {
public:
    Splitter();

    // Calls visit(std::string_view piece) for the consecutive, non-empty pieces of `text`. A byte that is not
    // part of well-formed UTF-8 is a piece by itself.
    template <class Visit>
    void split(std::string_view text, Visit visit) const {
        Cursor cursor(*this, text);
        for (std::string_view piece = cursor.next(); !piece.empty(); piece = cursor.next()) visit(piece);
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
        std::size_t at_ = 0;           // start of the next piece
        std::size_t well_formed_ = 0;  // text_[at_, well_formed_) is UTF-8
    };

    std::unique_ptr<void, FreePattern> pattern_;  // a pcre2_code
};

}  // namespace trireme::data
