#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/setup/model_choice.hpp"
#include "unit/setup/chosen_model.hpp"

namespace trireme::setup {
namespace {

using validation::catch_message;
using validation::chosen;
using validation::corpus_of;
using validation::images_of;
using validation::ModelFromCheckpoint;
using validation::named;

data::CorpusInfo corpus_with(const std::vector<std::string>& class_names) {
    data::CorpusInfo corpus = corpus_of(data::RowKind::labelled_text);
    corpus.classes = class_names.size();
    corpus.class_names = class_names;
    return corpus;
}

using Labels = std::vector<std::uint32_t>;
using Names = std::vector<std::string>;

TEST(LabelNames, ComeFromTheCorpusForANewHead) {
    config::ModelChoice with_more_labels = named("bert-tiny");
    with_more_labels.labels = 3;
    const data::CorpusInfo corpus = corpus_with({"spam", "ham"});

    EXPECT_EQ(chosen(named("bert-tiny"), corpus).label_names, (Names{"spam", "ham"}));
    EXPECT_EQ(chosen(with_more_labels, corpus).label_names, (Names{"spam", "ham", "LABEL_2"}));
    EXPECT_TRUE(chosen(named("vit-tiny"), images_of(3, 32, 10)).label_names.empty());
    EXPECT_TRUE(chosen(named("bert-tiny"), corpus, Task::masked).label_names.empty());
}

class ModelWithClassNames : public ModelFromCheckpoint {};

TEST_F(ModelWithClassNames, MatchesTheClassesOfACorpusByName) {
    model::ModelConfig config = small_bert();
    config.labels = 3;
    config.label_names = {"ham", "eggs", "spam"};
    const checkpoint::StoredModel bert = stored(config);
    const data::CorpusInfo corpus = corpus_with({"spam", "ham"});

    const model::ModelConfig model = chosen({}, corpus, {}, &bert);

    EXPECT_EQ(model.label_names, config.label_names);
    EXPECT_EQ(match_labels(model, corpus), (Labels{2, 0}));
    EXPECT_EQ(match_labels(model, corpus_with({"eggs"})), Labels{1});
}

TEST_F(ModelWithClassNames, RejectsAnUnknownClass) {
    model::ModelConfig config = small_bert();
    config.labels = 2;
    config.label_names = {"NEGATIVE", "POSITIVE"};
    const checkpoint::StoredModel bert = stored(config);
    const data::CorpusInfo corpus = corpus_with({"POSITIVE", "negative"});
    const model::ModelConfig model = chosen({}, corpus, {}, &bert);

    EXPECT_EQ(catch_message<ConfigError>([&] { match_labels(model, corpus); }),
              "a.h5 has the class negative, but the classes of bert are NEGATIVE, POSITIVE; prepare the corpus "
              "with these names, or omit all other classes with --where");
}

TEST(LabelNames, RejectANameThatTwoLabelsShare) {
    model::ModelConfig model = model::find_named_model("vit-tiny");
    model.labels = 3;
    model.label_names = {"crane", "ship", "crane"};

    EXPECT_EQ(match_labels(model, corpus_with({"ship"})), Labels{1});
    EXPECT_EQ(
        catch_message<ConfigError>([&] { match_labels(model, corpus_with({"crane"})); }),
        "the class crane of a.h5 matches several classes of vit-tiny; give each class its own name in the "
        "model's config.json");
}

TEST_F(ModelWithClassNames, MatchesByNumberIfModelOrCorpusHasNoNames) {
    model::ModelConfig config = small_bert();
    config.labels = 2;
    const checkpoint::StoredModel without = stored(config);
    const data::CorpusInfo with_names = corpus_with({"spam", "ham"});

    const model::ModelConfig model = chosen({}, with_names, {}, &without);

    EXPECT_EQ(model.label_names, with_names.class_names);
    EXPECT_EQ(match_labels(model, with_names), (Labels{0, 1}));
    data::CorpusInfo numbers = corpus_of(data::RowKind::labelled_text);
    numbers.classes = 2;
    EXPECT_TRUE(match_labels(model, numbers).empty());
    EXPECT_TRUE(match_labels(config, with_names).empty());
}

// Another number of labels requires a new head.
TEST_F(ModelWithClassNames, ReplacesItsNamesTogetherWithItsHead) {
    model::ModelConfig config = small_bert();
    config.labels = 2;
    config.label_names = {"NEGATIVE", "POSITIVE"};
    const checkpoint::StoredModel bert = stored(config);
    config::ModelChoice choice;
    choice.labels = 3;

    const model::ModelConfig model = chosen(choice, corpus_with({"spam", "ham", "eggs"}), {}, &bert);

    EXPECT_EQ(model.label_names, (Names{"spam", "ham", "eggs"}));
}

}  // namespace
}  // namespace trireme::setup
