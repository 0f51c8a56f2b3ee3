"""Queues and messages in the JSON protocol of SQS."""

import hashlib
import heapq
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import urlsplit

from cloudcmp.provider.simulated.storage.http_message import Answer, Head
from cloudcmp.provider.simulated.storage.json_fields import Fields
from cloudcmp.provider.simulated.storage.request import Call, CallContext, ServiceError, Wait
from cloudcmp.provider.simulated.storage.signature import Refusal
from cloudcmp.provider.simulated.storage.truth import Operation, StorageTruth

TARGET = "AmazonSQS."
ACCOUNT = "000000000000"
_NAMESPACE = "com.amazonaws.sqs#"
_NAME = re.compile(r"[A-Za-z0-9_\-]{1,80}")
_MESSAGE_BYTES_MAX = 1024 * 1024
_HIDDEN_S = 30.0
_OPERATIONS = {
    "SendMessage": Operation.QUEUE_SEND,
    "ReceiveMessage": Operation.QUEUE_RECEIVE,
    "DeleteMessage": Operation.QUEUE_DELETE,
    **dict.fromkeys(
        ("CreateQueue", "GetQueueUrl", "GetQueueAttributes", "ListQueues", "ListQueueTags", "TagQueue", "PurgeQueue"),
        Operation.CONTROL,
    ),
    "DeleteQueue": Operation.CONTROL,
}
_REFUSALS: Mapping[Refusal, tuple[int, str]] = {
    Refusal.MISSING: (403, "MissingAuthenticationToken"),
    Refusal.MALFORMED: (400, "IncompleteSignature"),
    Refusal.UNKNOWN_KEY: (403, "InvalidClientTokenId"),
    Refusal.WRONG_TOKEN: (403, "InvalidClientTokenId"),
    Refusal.EXPIRED_TOKEN: (403, "ExpiredToken"),
}


@dataclass(slots=True)
class _Message:
    id: str
    text: str
    receipt: str = ""
    receives: int = 0


@dataclass(slots=True)
class _Queue:
    created_unix_s: float
    tags: dict[str, str]
    attributes: dict[str, str]
    messages: dict[str, _Message] = field(default_factory=dict)
    visible: list[tuple[float, int, str]] = field(default_factory=list)
    """A heap of when messages can be received: seconds, order, identifier."""
    waiting: set[Callable[[], None]] = field(default_factory=set)


class Queues:
    """The SQS dialect and its store."""

    service = "sqs"
    throttled = ServiceError(403, "RequestThrottled", "The request was denied due to request throttling.")
    failed = ServiceError(500, "InternalFailure", "The request processing has failed.")

    def __init__(self, truth: StorageTruth) -> None:
        self.truth = truth
        self._queues: dict[str, _Queue] = {}
        self._order = count()

    def call(self, head: Head, body: bytes, url: str) -> Call:
        """What a request asks for."""
        action = head.headers["x-amz-target"].removeprefix(TARGET)
        if action not in _OPERATIONS:
            raise ServiceError(400, "InvalidAction", "This service has no such action.")
        return Call(head, body, action, _OPERATIONS[action], url)

    def wait(self, call: Call, now_s: float) -> Wait | None:
        """The wait of a ReceiveMessage with WaitTimeSeconds while there is no message."""
        if call.action != "ReceiveMessage":
            return None
        fields = _parse(call)
        default = self._queue(fields).attributes.get("ReceiveMessageWaitTimeSeconds", "0")
        wait_s = fields.count("WaitTimeSeconds", int(default), 0, 20)
        queue = self._queue(fields)
        while queue.visible and queue.visible[0][2] not in queue.messages:  # it was deleted
            heapq.heappop(queue.visible)
        next_s = queue.visible[0][0] if queue.visible else float("inf")
        if next_s <= now_s or not wait_s:
            return None
        return Wait(now_s + wait_s, min(next_s, now_s + wait_s), queue.waiting)

    def serve(self, call: Call, context: CallContext) -> Answer:
        """Carries out a call."""
        document = self._served(call, _parse(call), context)
        return _answer(200, document)

    def refusal(self, refusal: Refusal) -> ServiceError:
        """The error for a request whose signature is refused."""
        status, code = _REFUSALS.get(refusal, (403, "SignatureDoesNotMatch"))
        return ServiceError(status, code, f"The request is refused: {refusal.value}.")

    def error(self, error: ServiceError, head: Head) -> Answer:
        """An error as JSON; older clients read its code in a header."""
        del head
        code = {"QueueDoesNotExist": "AWS.SimpleQueueService.NonExistentQueue"}.get(error.code, error.code)
        sender = "Sender" if error.status < 500 else "Receiver"
        document = {"__type": f"{_NAMESPACE}{error.code}", "message": error.message}
        return _answer(error.status, document, (("x-amzn-query-error", f"{code};{sender}"),), error.code)

    def _served(self, call: Call, fields: Fields, context: CallContext) -> Mapping[str, object]:
        match call.action:
            case "CreateQueue":
                return self._create(fields, call, context)
            case "ListQueues":
                return self._list(fields, call)
            case "GetQueueUrl":
                name = fields.text("QueueName")
                self._named(name)
                return {"QueueUrl": _url(call, name)}
            case _:
                return self._in_queue(self._queue(fields), call, fields, context)

    def _in_queue(self, queue: _Queue, call: Call, fields: Fields, context: CallContext) -> Mapping[str, object]:
        """Requests to one queue."""
        document: Mapping[str, object] = {}
        match call.action:
            case "SendMessage":
                document = self._send(queue, fields, context)
            case "ReceiveMessage":
                document = self._receive(queue, fields, context)
            case "DeleteMessage":
                _delete(queue, fields.text("ReceiptHandle"), fields)
            case "PurgeQueue":
                queue.messages.clear()
                queue.visible.clear()
            case "DeleteQueue":
                self._delete(queue)
            case "TagQueue":
                queue.tags |= fields.texts("Tags")
            case "ListQueueTags":
                document = {"Tags": queue.tags} if queue.tags else {}
            case "GetQueueAttributes":
                document = {"Attributes": self._attributes(queue, fields, context)}
        return document

    def _create(self, fields: Fields, call: Call, context: CallContext) -> Mapping[str, object]:
        fields.only("QueueName", "Attributes", "tags")
        name = fields.text("QueueName")
        attributes = fields.texts("Attributes")
        if not _NAME.fullmatch(name):
            raise fields.error("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
        for attribute, text in attributes.items():
            if not (text.isascii() and text.isdigit() and len(text) <= 9):
                raise fields.error(f"This service has no {attribute} of this value.")
        if int(attributes.get("ReceiveMessageWaitTimeSeconds", "0")) > 20:
            raise fields.error("ReceiveMessageWaitTimeSeconds must be 20 at most.")
        present = self._queues.get(name)
        if present is not None and attributes.items() - present.attributes.items():
            raise ServiceError(400, "QueueNameExists", "A queue already exists with the same name and other attributes")
        if present is None and 0 < self.truth.data_sets_max <= len(self._queues):
            raise ServiceError(403, "OverLimit", "The account has as many queues as it may have.")
        if present is None:
            self._queues[name] = _Queue(context.unix_s, fields.texts("tags"), attributes)
        return {"QueueUrl": _url(call, name)}

    def _list(self, fields: Fields, call: Call) -> Mapping[str, object]:
        prefix, after = fields.text("QueueNamePrefix", ""), fields.text("NextToken", "")
        page = fields.count("MaxResults", 1000, 1, 1000)
        names = [name for name in sorted(self._queues) if name.startswith(prefix) and name > after]
        urls = {"QueueUrls": [_url(call, name) for name in names[:page]]} if names else {}
        more = {"NextToken": names[page - 1]} if len(names) > page and "MaxResults" in fields.plain else {}
        return {**urls, **more}

    def _send(self, queue: _Queue, fields: Fields, context: CallContext) -> Mapping[str, object]:
        fields.only("QueueUrl", "MessageBody", "DelaySeconds")
        text = fields.text("MessageBody")
        size = len(text.encode())
        if not 0 < size <= _MESSAGE_BYTES_MAX:
            raise fields.error("MessageBody must have 1 to 1048576 bytes.")
        delay_s = fields.count("DelaySeconds", int(queue.attributes.get("DelaySeconds", "0")), 0, 900)
        order = next(self._order)
        message = _Message(f"{order:08x}-0000-4000-8000-000000000000", text)
        queue.messages[message.id] = message
        heapq.heappush(queue.visible, (context.everywhere_s + delay_s, order, message.id))
        context.counts.payload_bytes_in += size
        _wake(queue)
        return {"MessageId": message.id, "MD5OfMessageBody": _md5(text)}

    def _receive(self, queue: _Queue, fields: Fields, context: CallContext) -> Mapping[str, object]:
        most = fields.count("MaxNumberOfMessages", 1, 1, 10)
        default = int(queue.attributes.get("VisibilityTimeout", _HIDDEN_S))
        hidden_s = fields.count("VisibilityTimeout", default, 0, 43200)
        taken: list[_Message] = []
        while queue.visible and queue.visible[0][0] <= context.now_s and len(taken) < most:
            _, _, id_ = heapq.heappop(queue.visible)
            message = queue.messages.get(id_)
            if message is not None:
                taken.append(message)
        for message in taken:
            order = next(self._order)
            message.receives += 1
            message.receipt = f"{message.id}.{message.receives}"
            heapq.heappush(queue.visible, (context.answer_s + hidden_s, order, message.id))
        if not taken:
            context.counts.empty += 1
            return {}
        context.counts.payload_bytes_out += sum(len(message.text.encode()) for message in taken)
        found = [
            {"MessageId": m.id, "ReceiptHandle": m.receipt, "MD5OfBody": _md5(m.text), "Body": m.text} for m in taken
        ]
        return {"Messages": found}

    def _attributes(self, queue: _Queue, fields: Fields, context: CallContext) -> dict[str, str]:
        name = _name_in(fields.text("QueueUrl"))
        now_visible = sum(1 for at, _, id_ in queue.visible if at <= context.now_s and id_ in queue.messages)
        known = {
            **queue.attributes,
            "QueueArn": f"arn:aws:sqs:{self.truth.region}:{ACCOUNT}:{name}",
            "ApproximateNumberOfMessages": str(now_visible),
            "CreatedTimestamp": str(int(queue.created_unix_s)),
        }
        asked = fields.names("AttributeNames")
        return {name: text for name, text in known.items() if name in asked or "All" in asked}

    def _delete(self, queue: _Queue) -> None:
        for name, other in list(self._queues.items()):
            if other is queue:
                del self._queues[name]
        _wake(queue)

    def _queue(self, fields: Fields) -> _Queue:
        return self._named(_name_in(fields.text("QueueUrl")))

    def _named(self, name: str) -> _Queue:
        if name not in self._queues:
            raise ServiceError(400, "QueueDoesNotExist", "The specified queue does not exist.")
        return self._queues[name]


def _parse(call: Call) -> Fields:
    return Fields.parse(call.body, "SerializationException", "InvalidParameterValue")


def _answer(
    status: int, document: Mapping[str, object], headers: tuple[tuple[str, str], ...] = (), code: str = ""
) -> Answer:
    content_type = ("Content-Type", "application/x-amz-json-1.0")
    return Answer(status, json.dumps(document, separators=(",", ":")).encode(), (content_type, *headers), code)


def _url(call: Call, name: str) -> str:
    return f"{call.url}/{ACCOUNT}/{name}"


def _name_in(url: str) -> str:
    """The name at the end of the URL of a queue; empty if it is none of this account."""
    try:
        account, _, name = urlsplit(url).path.strip("/").partition("/")
    except ValueError:
        return ""
    return name if account == ACCOUNT else ""


def _delete(queue: _Queue, receipt: str, fields: Fields) -> None:
    id_ = receipt.partition(".")[0]
    message = queue.messages.get(id_)
    if "." not in receipt:
        raise fields.error("The input receipt handle is invalid.")
    if message is not None and message.receipt == receipt:
        del queue.messages[id_]


def _wake(queue: _Queue) -> None:
    """Has every waiting receive look again: the message that has come may be seen before what it waited for."""
    for wake in list(queue.waiting):
        wake()


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
