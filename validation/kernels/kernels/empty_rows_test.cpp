// Operations on zero rows, as on a rank whose part of a sequence is empty. They do nothing, with and without
// addresses.
#include "comparison.hpp"
#include "trireme/kernels/columns.hpp"
#include "trireme/kernels/dropout.hpp"
#include "trireme/kernels/embedding.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/linear.hpp"
#include "trireme/kernels/logit_statistics.hpp"
#include "trireme/kernels/norm.hpp"
#include "trireme/kernels/rows.hpp"

namespace trireme::kernels {
namespace {

constexpr std::size_t in = 300;
constexpr std::size_t out = 129;

// Operands of one set of calls. Tensors of rows are empty; all others are random and must not change.
class EmptyRowOperands {
public:
    EmptyRowOperands(device::Stream& stream, device::DType dtype, bool has_address)
        : stream_(stream), has_address_(has_address), operands_(dtype) {}

    device::Tensor matrix(std::size_t columns) { return view(operands_.dtype(), 0, columns); }
    device::Tensor vector() { return make_vector(operands_.dtype()); }
    device::Tensor make_vector(device::DType dtype) { return view(dtype, 1, 0); }
    device::Tensor parameter(std::size_t columns) { return parameter(1, columns); }
    device::Tensor parameter(std::size_t rows, std::size_t columns) {
        changeable_.push_back(operands_.random(rows, columns));
        before_.push_back(values(changeable_.back()));
        return changeable_.back();
    }
    device::Tensor columns(const std::vector<double>& names) {
        return operands_.numbers_of(device::DType::i32, 1, names.size(), names);
    }
    Dropout dropout(double rate) {
        return {.rate = rate,
                .samples = make_vector(device::DType::i64),
                .positions = make_vector(device::DType::i32)};
    }

    template <class Op>
    void expect_nothing(const Op& op) {
        SCOPED_TRACE(op.cost().kernel);
        EXPECT_NO_THROW(launch(stream_, op));
        for (std::size_t i = 0; i < changeable_.size(); ++i) EXPECT_EQ(values(changeable_[i]), before_[i]);
    }

private:
    device::Tensor view(device::DType dtype, std::size_t rows, std::size_t columns) {
        if (!has_address_) return {nullptr, dtype, rows, columns, columns};
        return operands_.numbers_of(dtype, rows, columns, {});
    }

    device::Stream& stream_;
    bool has_address_;
    Operands operands_;
    std::vector<device::Tensor> changeable_;
    std::vector<std::vector<double>> before_;
};

// Calls `test(operands)` on every backend.
template <class Test>
void for_each_backend(Test&& test) {
    for (const bool has_address : {true, false}) {
        for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
            for (device::Stream stream :
                 {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{1}},
                  device::Stream{device::CpuStream{3}}, device::Stream{device::GhostStream{}}}) {
                SCOPED_TRACE(cat(to_string(dtype), ", backend ", stream.backend.index(), ", ",
                                 has_address ? "addresses" : "no addresses"));
                EmptyRowOperands t(stream, dtype, has_address);
                test(t);
            }
        }
    }
}

TEST(EmptyRows, ChangeNothingInNorms) {
    for_each_backend([](EmptyRowOperands& t) {
        const device::Tensor x = t.matrix(in);
        const device::Tensor y = t.matrix(in);
        const device::Tensor gain = t.parameter(in);
        const device::Tensor bias = t.parameter(in);
        const device::Tensor mean = t.vector();
        const device::Tensor scale = t.vector();

        t.expect_nothing(LayerNorm{x, gain, bias, y, mean, scale});
        t.expect_nothing(LayerNormBackwardInput{x, gain, mean, scale, y, t.matrix(in), t.matrix(in)});
        t.expect_nothing(LayerNormBackwardWeight{x, mean, scale, y, gain, bias});
        t.expect_nothing(RmsNorm{x, gain, y, scale});
        t.expect_nothing(RmsNormBackwardInput{x, gain, scale, y, t.matrix(in), t.matrix(in)});
        t.expect_nothing(RmsNormBackwardWeight{x, scale, y, gain});
    });
}

TEST(EmptyRows, ChangeNothingInMatmuls) {
    for_each_backend([](EmptyRowOperands& t) {
        for (const WeightAxes axes : {WeightAxes::in_out, WeightAxes::out_in}) {
            const device::Tensor x = t.matrix(in);
            const device::Tensor y = t.matrix(out);
            const device::Tensor weight =
                axes == WeightAxes::in_out ? t.parameter(in, out) : t.parameter(out, in);
            const device::Tensor bias = t.parameter(out);

            t.expect_nothing(Linear{x, weight, bias, y, axes});
            t.expect_nothing(Linear{x, weight, {}, y, axes});
            t.expect_nothing(LinearBackwardInput{y, weight, x, axes, false});
            t.expect_nothing(LinearBackwardInput{y, weight, x, axes, true});
            t.expect_nothing(LinearBackwardWeight{x, y, weight, bias, axes});
            t.expect_nothing(LinearBackwardWeight{x, y, weight, {}, axes});
        }
    });
}

TEST(EmptyRows, ChangeNothingInResidualAddAndDropout) {
    for_each_backend([](EmptyRowOperands& t) {
        for (const double rate : {0.0, 0.5}) {
            const device::Tensor x = t.matrix(in);
            t.expect_nothing(ResidualAdd{t.matrix(in), x, t.matrix(in), t.dropout(rate)});
            t.expect_nothing(ResidualAdd{{}, x, x, t.dropout(rate)});
            t.expect_nothing(DropoutBackward{x, t.matrix(in), t.dropout(rate)});
        }
    });
}

TEST(EmptyRows, ChangeNothingInCopiesFillsGathersAndScatters) {
    for_each_backend([](EmptyRowOperands& t) {
        const device::Tensor x = t.matrix(in);
        const device::Tensor table = t.parameter(7, in);
        const device::Tensor rows = t.make_vector(device::DType::i32);

        t.expect_nothing(Copy{x, t.matrix(in)});
        t.expect_nothing(Fill{x, 3});
        t.expect_nothing(GatherRows{table, rows, x});
        t.expect_nothing(GatherRows{t.matrix(in), rows, x});
        t.expect_nothing(ScatterRows{x, rows, table});
        const device::Tensor pair = t.columns({4, 1});
        t.expect_nothing(GatherColumns{x, pair, t.matrix(2)});
        for (const UnindexedFill unindexed_fill :
             {UnindexedFill::keep, UnindexedFill::zero, UnindexedFill::mean}) {
            t.expect_nothing(ScatterColumns{t.matrix(2), pair, x, unindexed_fill});
            t.expect_nothing(ScatterColumns{t.matrix(2), pair, x, unindexed_fill, true});
        }
    });
}

TEST(EmptyRows, ChangeNothingInEmbeddings) {
    for_each_backend([](EmptyRowOperands& t) {
        const device::Tensor rows = t.matrix(in);
        const device::Tensor ids = t.make_vector(device::DType::i32);
        const device::Tensor tokens = t.parameter(5, in);
        const device::Tensor positions = t.parameter(4, in);
        const device::Tensor types = t.parameter(2, in);

        t.expect_nothing(Embedding{ids, ids, tokens, positions, ids, types, rows});
        t.expect_nothing(Embedding{ids, ids, tokens, {}, {}, {}, rows, 3, 10});
        t.expect_nothing(EmbeddingBackward{ids, ids, rows, tokens, positions, ids, types});
        t.expect_nothing(EmbeddingBackward{ids, ids, rows, tokens, {}, {}, {}, 3, 10});
    });
}

TEST(EmptyRows, ChangeNothingInLogitStatistics) {
    for_each_backend([](EmptyRowOperands& t) {
        const device::Tensor logits = t.matrix(in);
        const device::Tensor ids = t.make_vector(device::DType::i32);
        const device::Tensor numbers = t.make_vector(device::DType::f64);
        device::Tensor parts = t.matrix(logit_field::count);
        parts.dtype = device::DType::f64;

        t.expect_nothing(LogitStatistics{logits, ids, parts, 7});
        t.expect_nothing(MergeLogitStatistics{parts, ids, numbers, numbers, ids, in + 7, 0.1});
        t.expect_nothing(LogitGradients{logits, ids, numbers, 7, in + 7, 1, 0.1});
    });
}

}  // namespace
}  // namespace trireme::kernels
