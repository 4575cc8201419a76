// Dropout factors of attention weights: 0, or 1 / (1 - rate).
#pragma once

#include "kernels/cpu/head_rows.hpp"
#include "kernels/cpu/philox.hpp"
#include "trireme/kernels/attention.hpp"
#include "trireme/kernels/dropout.hpp"

namespace trireme::kernels::cpu {

// Computes the dropout factors of one head in one segment.
template <class T>
class AttentionDropoutFactors {
public:
    AttentionDropoutFactors(const AttentionDropout& dropout, std::int64_t sample, std::size_t head)
        : is_on_(dropout.is_on()),
          key_(dropout.key.then(static_cast<std::uint64_t>(sample))),
          head_(static_cast<std::uint32_t>(dropout.first_head + head)),
          threshold_(static_cast<std::uint32_t>(compute_drop_threshold(dropout.rate))),
          scale_(static_cast<T>(1 / (1 - dropout.rate))) {}

    bool is_on() const { return is_on_; }

    // factors[k] = dropout factor of the weight of `query` and key key_begin + k, for k < block_rows. The
    // caller ensures that key_begin is a multiple of 4, because each random block has the words of four keys.
    void draw(std::size_t query, std::size_t key_begin, T* factors) const {
        std::uint32_t words[block_rows];
        const RandomBlock first{static_cast<std::uint32_t>(key_begin / 4), static_cast<std::uint32_t>(query),
                                head_, 1};
        draw_random_words(key_, first, block_rows / 4, words);
#pragma omp simd
        for (std::size_t k = 0; k < block_rows; ++k) factors[k] = words[k] >= threshold_ ? scale_ : T{0};
    }

private:
    bool is_on_;
    RandomKey key_;
    std::uint32_t head_;
    std::uint32_t threshold_;
    T scale_;
};

}  // namespace trireme::kernels::cpu
