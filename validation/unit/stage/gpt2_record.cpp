#include "unit/stage/gpt2_record.hpp"

#include <hdf5.h>

#include <filesystem>

namespace trireme {
namespace {

// Read access to the datasets of one file, each as doubles in row-major order.
class RecordFile {
public:
    explicit RecordFile(const std::string& path)
        : path_(path),
          file_(std::filesystem::exists(path) ? H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT) : -1) {
        if (file_ < 0) throw ResourceError(cat(path, " cannot be read; check it out again, or make it anew"));
    }
    RecordFile(const RecordFile&) = delete;
    RecordFile& operator=(const RecordFile&) = delete;
    ~RecordFile() { H5Fclose(file_); }

    std::vector<double> numbers(const std::string& name) const {
        const hid_t dataset = H5Dopen2(file_, name.c_str(), H5P_DEFAULT);
        if (dataset < 0) throw ResourceError(cat(path_, " has no dataset ", name));
        const hid_t space = H5Dget_space(dataset);
        std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
        const herr_t status = H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
        H5Sclose(space);
        H5Dclose(dataset);
        if (status < 0) throw ResourceError(cat(path_, ": dataset ", name, " cannot be read"));
        return values;
    }
    double number(const std::string& name) const { return numbers(name).at(0); }
    std::size_t size(const std::string& name) const { return static_cast<std::size_t>(number(name)); }

    std::vector<std::string> names_in(const std::string& group) const {
        std::vector<std::string> names;
        const auto add = [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
            static_cast<std::vector<std::string>*>(list)->emplace_back(name);
            return 0;
        };
        H5Literate_by_name(file_, group.c_str(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names, H5P_DEFAULT);
        return names;
    }
    NamedNumbers all_in(const std::string& group) const {
        NamedNumbers all;
        for (const std::string& name : names_in(group)) all[name] = numbers(cat(group, "/", name));
        return all;
    }

private:
    std::string path_;
    hid_t file_;
};

ModelConfig read_config(const RecordFile& file) {
    return {.name = "recorded",
            .layers = file.size("config/layers"),
            .width = file.size("config/width"),
            .heads = file.size("config/heads"),
            .mlp_width = file.size("config/mlp_width"),
            .positions = file.size("config/positions"),
            .vocabulary = file.size("config/vocabulary"),
            .tied = file.number("config/tied") != 0,
            .dropout = 0,
            .norm_epsilon = file.number("config/norm_epsilon")};
}

OptimizerConfig read_optimizer(const RecordFile& file) {
    return {.kind = OptimizerKind::adamw,
            .rate = file.number("optimizer/rate"),
            .schedule = RateSchedule::constant,
            .weight_decay = file.number("optimizer/weight_decay"),
            .beta1 = file.number("optimizer/beta1"),
            .beta2 = file.number("optimizer/beta2"),
            .epsilon = file.number("optimizer/epsilon"),
            .clip = file.number("optimizer/clip")};
}

std::vector<TokenSample> read_samples(const RecordFile& file) {
    const std::vector<double> tokens = file.numbers("batch/tokens");
    const std::vector<double> targets = file.numbers("batch/targets");
    std::vector<TokenSample> samples;
    std::size_t row = 0;
    for (const double length : file.numbers("batch/lengths")) {
        TokenSample sample{.tokens = {}, .targets = {}, .visit = static_cast<std::int64_t>(samples.size())};
        for (const std::size_t end = row + static_cast<std::size_t>(length); row < end; ++row) {
            sample.tokens.push_back(static_cast<std::int32_t>(tokens.at(row)));
            sample.targets.push_back(static_cast<std::int32_t>(targets.at(row)));
        }
        samples.push_back(std::move(sample));
    }
    return samples;
}

Float32Errors read_errors(const RecordFile& file) {
    Float32Errors errors{.loss = file.number("float32_errors/loss"),
                         .logits = file.number("float32_errors/logits"),
                         .losses = file.number("float32_errors/losses"),
                         .norms = file.number("float32_errors/norms"),
                         .gradients = {}};
    for (const auto& [name, values] : file.all_in("float32_errors/gradients")) {
        errors.gradients[name] = values.at(0);
    }
    return errors;
}

}  // namespace

std::size_t Gpt2Record::predictions() const {
    std::size_t sum = 0;
    for (const TokenSample& sample : samples) sum += sample.targets.size();
    return sum;
}

Gpt2Record read_gpt2_record(const std::string& name) {
    const RecordFile file(cat(TRIREME_SOURCE_DIR, "/validation/reference/", name, ".h5"));
    return {.config = read_config(file),
            .optimizer = read_optimizer(file),
            .samples = read_samples(file),
            .weights = file.all_in("weights"),
            .gradients = file.all_in("gradients"),
            .loss = file.number("loss"),
            .logits = file.numbers("logits"),
            .losses = file.numbers("losses"),
            .norms = file.numbers("norms"),
            .float32_errors = read_errors(file)};
}

}  // namespace trireme
