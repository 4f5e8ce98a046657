"""`tadc lsp`: a language server over stdin and stdout, for editors that speak LSP.

What it answers is in `analysis.py`; here are the protocol's names and its lines and columns.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from tadc.editing.analysis import Analysis, NotRenamed, analysed
from tadc.editing.formatter import formatted
from tadc.editing.text_positions import Positions
from tadc.frontend.diagnostics import GUESS, CompileError, Diagnostic
from tadc.frontend.packages import VERSION
from tadc.frontend.remembered import CheckMemory
from tadc.frontend.source import Source, Span
from tadc.frontend.syntax import Module, SizeDecl

#: Seconds without an edit before a text is checked: keys that are pressed at once are one edit.
_PAUSE = 0.02
#: How many new objects there are before cycles among them are looked for: programs have none.
_OBJECTS = 200_000

_SEVERITIES = {"error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning}
_KINDS = {
    "tensor": lsp.CompletionItemKind.Variable,
    "size": lsp.CompletionItemKind.Constant,
    "index": lsp.CompletionItemKind.Field,
    "name": lsp.CompletionItemKind.Text,
    "function": lsp.CompletionItemKind.Function,
    "word": lsp.CompletionItemKind.Keyword,
}


class TadServer(LanguageServer):
    """The server: what is known of each text that is open."""

    def __init__(self) -> None:
        # Texts are short, and editors count lines in ways of their own where a text is changed in parts.
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            "tadc", VERSION, text_document_sync_kind=lsp.TextDocumentSyncKind.Full
        )
        self._known: dict[str, tuple[str, Analysis]] = {}
        self._memory = CheckMemory()

    def analysis(self, uri: str) -> tuple[Analysis, Positions]:
        """What is known of a text as it is now."""
        text = self.workspace.get_text_document(uri).source
        known = self._known.get(uri)
        if known is None or known[0] != text:
            name = unquote(urlparse(uri).path).rpartition("/")[2]
            known = self._known[uri] = text, _analysed(Source(text, name), self._memory)
        encoding = lsp.PositionEncodingKind(self.workspace.position_encoding or "utf-16")
        return known[1], Positions(known[1].source, encoding.value)

    def forget(self, uri: str) -> None:
        """Drop what is known of a text."""
        self._known.pop(uri, None)

    def publish(self, uri: str, version: int | None) -> None:
        """Tell the editor what is wrong with a text."""
        found, places = self.analysis(uri)
        shown = [_diagnostic(d, uri, places) for d in found.diagnostics]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, shown, version))


def _analysed(source: Source, memory: CheckMemory) -> Analysis:
    """What is known of a text; where the compiler has a bug, that: an editor must not lose its server."""
    try:
        return analysed(source, memory)
    except Exception as bug:
        helps = ["`tadc check` writes a file that shows it again"]
        found = Diagnostic("", f"a bug of the compiler: {bug!r}", helps=helps, source=source)
        return Analysis(source, Module(Span(0, 0), ()), (found,), None)


def serve() -> None:
    """Answer on stdin and stdout until the editor goes."""
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    server().start_io()


def server() -> TadServer:
    """A server with all that it answers to."""
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_unexpected)
    made = TadServer()
    _add_diagnostics(made)
    _add_meanings(made)
    _add_names(made)
    _add_changes(made)
    return made


def _is_unexpected(record: logging.LogRecord) -> bool:
    """Whether a log has something that the editor is not told: a refusal is an answer."""
    return not (record.exc_info and isinstance(record.exc_info[1], JsonRpcInvalidParams))


def _add_diagnostics(server: TadServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.publish(params.text_document.uri, params.text_document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        uri, version = params.text_document.uri, params.text_document.version
        await asyncio.sleep(_PAUSE)
        # A later edit is answered in its place.
        if server.workspace.get_text_document(uri).version == version:
            server.publish(uri, version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(params.text_document.uri, []))


def _add_meanings(server: TadServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        found, places = server.analysis(params.text_document.uri)
        meaning = found.about(places.offset(params.position))
        if meaning is None:
            return None
        span, lines, about = meaning
        text = f"```tad\n{lines}\n```\n{about}"
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), places.range(span))

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    def hints(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        found, places = server.analysis(params.text_document.uri)
        first, last = places.offset(params.range.start), places.offset(params.range.end)
        return [
            lsp.InlayHint(
                places.position(hint.at),
                hint.text,
                kind=lsp.InlayHintKind.Type,
                tooltip=hint.about,
                text_edits=[lsp.TextEdit(places.range(Span(hint.at, hint.at)), hint.text)],
            )
            for hint in found.hints()
            if first <= hint.at <= last
        ]

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["["]))
    def complete(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        found, places = server.analysis(params.text_document.uri)
        words = enumerate(found.completions(places.offset(params.position)))
        # Editors would sort them by their letters.
        return [
            lsp.CompletionItem(w.word, kind=_KINDS[w.kind], detail=w.about or None, sort_text=f"{n:05}")
            for n, w in words
        ]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outline(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        found, places = server.analysis(params.text_document.uri)
        shown: list[lsp.DocumentSymbol] = []
        for statement in found.statements:
            kind = lsp.SymbolKind.Variable
            if isinstance(statement, SizeDecl):
                kind = lsp.SymbolKind.Constant
            name = places.range(statement.name_span)
            meaning = found.about(statement.name_span.start)
            detail = meaning[2] if meaning else None
            shown.append(lsp.DocumentSymbol(statement.name, kind, places.range(statement.span), name, detail))
        return shown


def _add_names(server: TadServer) -> None:
    def named(params: lsp.DefinitionParams | lsp.ReferenceParams, *, binds: bool) -> list[lsp.Location]:
        """Where that is named or bound which stands at a place."""
        found, places = server.analysis(params.text_document.uri)
        here = found.name_at(places.offset(params.position))
        names = found.all_of(here.symbol) if here else []
        spans = [o.span for o in names if o.binds or not binds]
        return [lsp.Location(params.text_document.uri, places.range(span)) for span in spans]

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> list[lsp.Location]:
        return named(params, binds=True)

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        return named(params, binds=False)

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlights(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        found, places = server.analysis(params.text_document.uri)
        here = found.name_at(places.offset(params.position))
        names = found.all_of(here.symbol) if here else []
        read, written = lsp.DocumentHighlightKind.Read, lsp.DocumentHighlightKind.Write
        return [lsp.DocumentHighlight(places.range(o.span), written if o.binds else read) for o in names]

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def nameable(params: lsp.PrepareRenameParams) -> lsp.Range | None:
        found, places = server.analysis(params.text_document.uri)
        here = found.name_at(places.offset(params.position))
        return places.range(here.span) if here else None

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        uri = params.text_document.uri
        found, places = server.analysis(uri)
        try:
            spans = found.renamed(places.offset(params.position), params.new_name)
        except NotRenamed as problem:
            raise JsonRpcInvalidParams(str(problem)) from None
        edits = [lsp.TextEdit(places.range(span), params.new_name) for span in spans]
        return lsp.WorkspaceEdit({uri: edits})


def _add_changes(server: TadServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix]))
    def fixes(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        found, places = server.analysis(uri)
        first, last = places.offset(params.range.start), places.offset(params.range.end)
        return [
            _fix(d, uri, places)
            for d in found.diagnostics
            if d.edits and d.primary and d.primary.span.start <= last and d.primary.span.end >= first
        ]

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def format(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        found, places = server.analysis(params.text_document.uri)
        try:
            text = formatted(found.source)
        except CompileError:
            return []  # what is wrong is shown already
        return [lsp.TextEdit(places.range(Span(0, len(found.source.text))), text)]


def _diagnostic(diagnostic: Diagnostic, uri: str, places: Positions) -> lsp.Diagnostic:
    primary = diagnostic.primary
    label = f": {primary.text}" if primary and primary.text else ""
    more = [f"note: {note}" for note in diagnostic.notes] + [f"help: {help}" for help in diagnostic.helps]
    related = [
        lsp.DiagnosticRelatedInformation(
            lsp.Location(uri, places.range(label.span)), label.text or "here too"
        )
        for label in diagnostic.secondary
    ]
    return lsp.Diagnostic(
        places.range(primary.span if primary else Span(0, 0)),
        "\n".join([diagnostic.message + label, *more]),
        severity=_SEVERITIES.get(diagnostic.severity, lsp.DiagnosticSeverity.Information),
        code=diagnostic.code,
        source="tadc",
        related_information=related,
    )


def _fix(diagnostic: Diagnostic, uri: str, places: Positions) -> lsp.CodeAction:
    """What the edits of an error do; one that is a guess is not preferred."""
    edits = [lsp.TextEdit(places.range(edit.span), edit.replacement) for edit in diagnostic.edits]
    title = diagnostic.helps[0] if diagnostic.helps else f"put right: {diagnostic.message}"
    guess = any(edit.applicability == GUESS for edit in diagnostic.edits)
    return lsp.CodeAction(
        title.replace("`", "'"),
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=[_diagnostic(diagnostic, uri, places)],
        is_preferred=not guess,
        edit=lsp.WorkspaceEdit({uri: edits}),
    )
