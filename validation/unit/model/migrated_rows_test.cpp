// FlexTP's migration of a projection whose ranks each read channels of their own, as published and as
// corrected. Y is the sum over ranks of X_r W_r. Helpers compute the matmuls of some channels J of slow rank s.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "trireme/base/random.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/kernels/linear.hpp"
#include "trireme/kernels/read.hpp"

namespace trireme::model {
namespace {

using Numbers = std::vector<double>;

constexpr std::size_t ranks = 4, rows = 6, channels = 16, outputs = 10;
constexpr std::size_t slow = 0;

struct Piece {
    std::size_t rank;  // the rank that computes the piece
    std::size_t begin;
    std::size_t count;
};
// As published, the slow rank keeps an eighth, and half of the ranks share the rest.
constexpr std::array<Piece, 3> pieces{{{slow, 0, 2}, {2, 2, 7}, {3, 9, 7}}};

// The results of all ranks.
struct Outcome {
    Numbers output;
    std::array<Numbers, ranks> grad_inputs;
    Numbers grad_weight;  // the slow rank's
};

double error_of(const Numbers& numbers, const Numbers& expected) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        difference += std::pow(numbers.at(i) - expected[i], 2);
        norm += std::pow(expected[i], 2);
    }
    return std::sqrt(difference / norm);
}

class MigratedRows : public testing::Test {
protected:
    MigratedRows() {
        for (std::size_t r = 0; r < ranks; ++r) {
            inputs_[r] = scattered(rows, channels, 2 * r);
            weights_[r] = scattered(channels, outputs, 2 * r + 1);
        }
    }

    Outcome dense() {
        const device::Tensor output = zeros(rows, outputs);
        Outcome outcome;
        for (std::size_t r = 0; r < ranks; ++r) {
            add(matmul(inputs_[r], weights_[r]), output);
            outcome.grad_inputs[r] = read(input_gradient(weights_[r]));
        }
        outcome.output = read(output);
        outcome.grad_weight = read(weight_gradient(inputs_[slow]));
        return outcome;
    }

    // Computes the slow rank's matmuls in pieces. For its piece, a rank multiplies the input of rank
    // reads(rank), and adds the gradient to the input gradient of rank gets(rank).
    template <class OfRank>
    Outcome migrated(OfRank&& reads, OfRank&& gets) {
        const device::Tensor output = zeros(rows, outputs), grad_weight = zeros(channels, outputs);
        std::array<device::Tensor, ranks> grad_inputs;
        grad_inputs[slow] = zeros(rows, channels);
        for (std::size_t r = slow + 1; r < ranks; ++r) {
            add(matmul(inputs_[r], weights_[r]), output);
            grad_inputs[r] = input_gradient(weights_[r]);
        }
        for (const auto& [rank, begin, count] : pieces) {
            const device::Tensor input = inputs_[reads(rank)].column_range(begin, count);
            const device::Tensor weight = weights_[slow].row_range(begin, count);
            add(matmul(input, weight), output);
            add(input_gradient(weight), grad_inputs[gets(rank)].column_range(begin, count));
            add(weight_gradient(input), grad_weight.row_range(begin, count));
        }
        Outcome outcome{.output = read(output), .grad_inputs = {}, .grad_weight = read(grad_weight)};
        for (std::size_t r = 0; r < ranks; ++r) outcome.grad_inputs[r] = read(grad_inputs[r]);
        return outcome;
    }

private:
    device::Tensor zeros(std::size_t of_rows, std::size_t of_columns) {
        const device::Tensor made = memory_.tensor(device::DType::f64, of_rows, of_columns);
        for (std::size_t i = 0; i < made.size(); ++i) made.flattened().as<double>()[i] = 0;
        return made;
    }
    device::Tensor scattered(std::size_t of_rows, std::size_t of_columns, std::uint64_t seed) {
        const device::Tensor made = zeros(of_rows, of_columns);
        for (std::size_t i = 0; i < made.size(); ++i)
            made.flattened().as<double>()[i] = 2 * to_unit_interval(random_block(RandomKey{seed}, i)[0]) - 1;
        return made;
    }
    void add(const device::Tensor& term, const device::Tensor& sum) const {
        for (std::size_t r = 0; r < sum.rows; ++r) {
            for (std::size_t c = 0; c < sum.columns; ++c) sum.as<double>()(r, c) += term.as<double>()(r, c);
        }
    }
    Numbers read(const device::Tensor& tensor) { return kernels::read_values(stream_, tensor); }

    device::Tensor matmul(const device::Tensor& input, const device::Tensor& weight) {
        const device::Tensor output = zeros(rows, outputs);
        launch(stream_, kernels::Linear{.input = input, .weight = weight, .output = output});
        return output;
    }
    device::Tensor input_gradient(const device::Tensor& weight) {
        const device::Tensor gradient = zeros(rows, weight.rows);
        launch(stream_, kernels::LinearBackwardInput{
                            .grad_output = grad_output_, .weight = weight, .grad_input = gradient});
        return gradient;
    }
    device::Tensor weight_gradient(const device::Tensor& input) {
        const device::Tensor gradient = zeros(input.columns, outputs);
        launch(stream_, kernels::LinearBackwardWeight{
                            .input = input, .grad_output = grad_output_, .grad_weight = gradient});
        return gradient;
    }

    device::Stream stream_{.backend = device::ReferenceStream{}};
    device::Arena memory_{"test", 1 << 18, device::MemorySpace::host};
    std::array<device::Tensor, ranks> inputs_{};                  // (rows, channels) each
    std::array<device::Tensor, ranks> weights_{};                 // (channels, outputs) each
    device::Tensor grad_output_ = scattered(rows, outputs, 100);  // equal on all ranks
};

std::size_t own(std::size_t rank) { return rank; }
std::size_t of_the_slow_rank(std::size_t) { return slow; }

TEST_F(MigratedRows, AreExactIfInputIsSentAndItsGradientReturned) {
    const Outcome expected = dense(), found = migrated(of_the_slow_rank, of_the_slow_rank);

    EXPECT_LE(error_of(found.output, expected.output), 1e-12);
    for (std::size_t r = 0; r < ranks; ++r)
        EXPECT_LE(error_of(found.grad_inputs[r], expected.grad_inputs[r]), 1e-12) << "rank " << r;
    EXPECT_LE(error_of(found.grad_weight, expected.grad_weight), 1e-12);
}

// The published row form sends only weights. A helper multiplies columns J of its own X by the slow rank's
// W[J,:]. It adds dX[:,J] to its own dX, and no all-reduce follows.
TEST_F(MigratedRows, AreWrongAsPublished) {
    const Outcome expected = dense(), published = migrated(own, own);

    EXPECT_GT(error_of(published.output, expected.output), 0.1);
    EXPECT_GT(error_of(published.grad_weight, expected.grad_weight), 0.1);
    for (const Piece& piece : pieces)
        EXPECT_GT(error_of(published.grad_inputs[piece.rank], expected.grad_inputs[piece.rank]), 0.1)
            << "rank " << piece.rank;
    EXPECT_LE(error_of(published.grad_inputs[1], expected.grad_inputs[1]), 1e-12);  // rank 1 computes no piece
}

}  // namespace
}  // namespace trireme::model
