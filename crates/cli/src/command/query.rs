//! `skolem query`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;
use skolem_kg::query::names::Letters;
use skolem_kg::query::shape::NAMED;
use skolem_kg::query::skolem::Forms;
use skolem_kg::query::text::{self, Style};
use skolem_kg::query::tuple::Tuple;
use skolem_kg::query::{Query, formula, sparql};
use skolem_kg::{Error, Graph};

use super::{open_graph, question_text};
use crate::failure::in_question;
use crate::output;

const AFTER_HELP: &str = "\
Examples:
  skolem query @world 'borders(France) & !^member_of(EU)'            in every notation
  skolem query @world 'borders(France) & !^member_of(EU)' --to sparql
  skolem query @world 'capital(borders(France))' --show              the paper's three forms
  skolem query --show                                                of all 14 named shapes";

/// Read a question and write it in other notations, without answering it
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// The graph whose names the question uses
    #[arg(required_unless_present = "show")]
    graph: Option<PathBuf>,

    /// The question, in set logic, first-order logic or SPARQL; - reads it from standard input
    #[arg(required_unless_present = "show")]
    question: Option<String>,

    /// Show first-order logic, Skolem normal form and Skolem set logic, as the paper's table does;
    /// without a question, for all named shapes
    #[arg(long, conflicts_with = "to")]
    show: bool,

    /// Write one form only
    #[arg(long, value_name = "FORM")]
    to: Option<Form>,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Forms in which a question can be written.
#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// Set logic, with & | ! ^
    Set,
    /// Set logic, with ∧ ∨ ¬ ⁻¹
    Unicode,
    /// First-order logic
    Fol,
    /// SPARQL
    Sparql,
    /// KGReasoning's nested tuple, as JSON
    Tuple,
    /// The name of the shape, or its pattern
    Shape,
    /// Set logic, with operands in order and each once
    Canonical,
    /// Set logic, as a union of queries without unions, one a line
    Dnf,
    /// Set logic, with unions as complements of intersections
    Demorgan,
}

pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let (Some(path), Some(question)) = (&args.graph, &args.question) else {
        if args.graph.is_some() {
            let message = "a question is missing after the graph (see skolem query --help)";
            return Err(Error::Setting(message.into()).into());
        }
        show_all(out, args.json)?;
        return Ok(ExitCode::SUCCESS);
    };
    let graph = open_graph(path)?;
    let text = question_text(question)?;
    let query = Query::parse(&text, &graph).map_err(in_question(&text))?;
    if args.show {
        show(out, &Forms::of(&query, &graph), args.json)?;
    } else if let Some(form) = args.to {
        let written = write(&query, &graph, form)?;
        match args.json {
            true => output::json(out, &value(form, written))?,
            false => writeln!(out, "{written}")?,
        }
    } else {
        every_form(out, &query, &graph, args.json)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write(query: &Query, graph: &Graph, form: Form) -> Result<String> {
    let set = |query: &Query| text::print(query, graph, Style::Ascii);
    Ok(match form {
        Form::Set => set(query),
        Form::Unicode => text::print(query, graph, Style::Unicode),
        Form::Fol => formula::print(query, graph, Style::Ascii),
        Form::Sparql => sparql::print(query, graph)?,
        Form::Tuple => serde_json::to_string(&Tuple::of(query))?,
        Form::Shape => query.shape().to_string(),
        Form::Canonical => set(&query.canonical()),
        Form::Dnf => query.disjuncts()?.iter().map(set).collect::<Vec<_>>().join("\n"),
        Form::Demorgan => set(&query.without_unions()),
    })
}

/// A written form as JSON; a tuple is JSON already.
fn value(form: Form, written: String) -> serde_json::Value {
    match form {
        Form::Tuple => serde_json::from_str(&written).unwrap_or(written.into()),
        _ => written.into(),
    }
}

fn every_form(out: &mut dyn Write, query: &Query, graph: &Graph, json: bool) -> Result<()> {
    let forms = [
        ("shape", Form::Shape),
        ("set logic", Form::Set),
        ("first-order", Form::Fol),
        ("SPARQL", Form::Sparql),
        ("tuple", Form::Tuple),
    ];
    let written = |form| write(query, graph, form).unwrap_or_else(|error| format!("({error})"));
    if json {
        let all: serde_json::Map<String, serde_json::Value> = forms
            .iter()
            .map(|(name, form)| {
                // A form that cannot say the question is null.
                let found = write(query, graph, *form).map(|text| value(*form, text));
                (name.to_lowercase().replace([' ', '-'], "_"), found.unwrap_or_default())
            })
            .collect();
        return output::json(out, &all);
    }
    for (name, form) in forms {
        writeln!(out, "{name:<12} {}", written(form).replace('\n', "\n             "))?;
    }
    Ok(())
}

fn show(out: &mut dyn Write, forms: &Forms, json: bool) -> Result<()> {
    if json {
        return output::json(out, forms);
    }
    writeln!(out, "First-order logic   {}", forms.first_order)?;
    writeln!(out, "Skolem normal form  {}", forms.normal_form)?;
    writeln!(out, "Skolem set logic    {}", forms.set_logic)?;
    Ok(())
}

/// The paper's table of query forms.
fn show_all(out: &mut dyn Write, json: bool) -> Result<()> {
    let mut forms = Vec::new();
    for (name, pattern) in NAMED {
        forms.push((name, Forms::of(&Letters::query(&pattern.parse()?), &Letters)));
    }
    if json {
        let all: std::collections::BTreeMap<_, _> = forms.into_iter().collect();
        return output::json(out, &all);
    }
    let rows = forms.into_iter().map(|(name, forms)| {
        vec![name.to_owned(), forms.first_order, forms.normal_form, forms.set_logic]
    });
    let header = ["", "First-order logic", "Skolem normal form", "Skolem set logic"];
    writeln!(out, "{}", output::table(&header, 4, rows.collect()))?;
    Ok(())
}
